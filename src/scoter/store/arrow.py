"""Keep Arrow small and quick to start."""

from __future__ import annotations

import sys

import pyarrow as pa


class _PandasBlocker:
    """An import hook that hides pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def limit_arrow_memory() -> None:
    """Stop Arrow from importing pandas, and make it return free memory, for the rest of this process.

    Before its first array Arrow tries to import pandas, which takes a third of a second and 45 MB. A plug-in can still
    import pandas itself. Arrow's default allocator keeps freed memory, 50 MB after a long list of pages, and in the
    system's heap its blocks leave 20 MB of holes. (The Parquet writer only reads an environment variable before Arrow
    is loaded, which commands set at their start.)
    """
    blocker = _PandasBlocker()
    sys.meta_path.insert(0, blocker)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(blocker)
    try:
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:  # Arrow was built without jemalloc
        pa.set_memory_pool(pa.system_memory_pool())
