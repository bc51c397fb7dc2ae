"""Arrow in a process that should stay small."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import sys

import pyarrow as pa


class _WithoutPandas:
    """Finds no pandas: Arrow looks for it before it makes an array, which takes a third of a second and 45 MB."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def stay_small() -> None:
    """Have this process do without pandas, and without the allocator of Arrow's own.

    That one keeps what it was given: 50 MB more after a long list of pages than after a short one.
    """
    if not any(isinstance(each, _WithoutPandas) for each in sys.meta_path):
        sys.meta_path.insert(0, _WithoutPandas())
    pa.set_memory_pool(pa.system_memory_pool())
