"""Send functions that hold plug-ins to other processes.

Plug-ins hold compiled patterns and open files, which cannot be pickled. So a plug-in travels as its name, the address
of its class and its configuration, and is instantiated where it arrives, once per process.
"""
# mypy: disable-error-code="misc, no-untyped-call, unused-ignore"

from __future__ import annotations

import io
import pickle
from functools import lru_cache
from importlib.metadata import EntryPoint
from typing import Any

from scoter.plugins.loading import Plugin, origin
from scoter.plugins.points import POINTS

_MOST = 16  # functions and plug-ins that a process keeps


def dumps(function: Any) -> bytes:
    """Return a function, with all that it refers to, as bytes."""
    from pyspark.cloudpickle import CloudPickler

    class Pickler(CloudPickler):
        def persistent_id(self, value: Any) -> tuple[str, str, str, bytes] | None:
            found = origin(value)
            if found is None:
                return None
            plugin, config = found
            return plugin.point.name, plugin.name, plugin.entry.value, pickle.dumps(config)

    file = io.BytesIO()
    Pickler(file).dump(function)
    return file.getvalue()


@lru_cache(maxsize=_MOST)
def loads(stored: bytes) -> Any:
    """Return the function that ``dumps`` made bytes of; trust them, because they run as code."""
    return _Unpickler(io.BytesIO(stored)).load()


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, found: tuple[str, str, str, bytes]) -> Any:
        return _made(*found)


@lru_cache(maxsize=_MOST)
def _made(point: str, name: str, value: str, config: bytes) -> Any:
    at = POINTS[point]
    plugin = Plugin(at, name, EntryPoint(name, value, at.group))
    return plugin.make(pickle.loads(config))  # noqa: S301 - written by ``dumps``
