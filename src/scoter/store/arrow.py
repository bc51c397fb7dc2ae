"""Arrow in a process that should start quickly and stay small."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import sys

import pyarrow as pa


class _WithoutPandas:
    """Finds no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def limit_arrow_memory() -> None:
    """Have Arrow do without pandas, and with an allocator that gives back what is free, here and from now on.

    It looks for pandas once, before it makes its first array, just to know what it might be given: a third of a second
    and 45 MB. A plug-in that wants pandas imports it as ever. Its own allocator keeps what it was given, 50 MB after a
    long list of pages; and in the heap of everything else its blocks leave holes, 20 MB of them. (What writes Parquet
    asks the environment alone, before Arrow is loaded; so that is set where a command begins.)
    """
    blind = _WithoutPandas()
    sys.meta_path.insert(0, blind)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(blind)
    try:
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    except NotImplementedError:  # Arrow was built without it
        pa.set_memory_pool(pa.system_memory_pool())
