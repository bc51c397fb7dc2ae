"""Send functions that hold plug-ins to other processes.

Plug-ins hold compiled patterns and open files, which cannot be pickled. So a plug-in travels as its name and its
configuration, and is instantiated where it arrives, once per process.
"""
# mypy: disable-error-code="import-untyped, import-not-found, misc, no-untyped-call, unused-ignore"

from __future__ import annotations

import io
import pickle
from functools import lru_cache
from typing import Any

from scoter.plugins.loading import find_by_full_name, origin

_MOST = 16  # functions and plug-ins that a process keeps


def dumps(function: Any) -> bytes:
    """Return a function, with all that it refers to, as bytes."""
    from pyspark.cloudpickle import CloudPickler

    class Pickler(CloudPickler):
        def persistent_id(self, value: Any) -> tuple[str, bytes] | None:
            found = origin(value)
            return None if found is None else (found[0], pickle.dumps(found[1]))

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue()


@lru_cache(maxsize=_MOST)
def loads(stored: bytes) -> Any:
    """Return the function that ``dumps`` made bytes of; trust them, because they run as code."""
    return _Unpickler(io.BytesIO(stored)).load()


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, found: tuple[str, bytes]) -> Any:
        return _made(*found)


@lru_cache(maxsize=_MOST)
def _made(full_name: str, config: bytes) -> Any:
    return find_by_full_name(full_name).make(pickle.loads(config))  # noqa: S301 - written by ``dumps``
