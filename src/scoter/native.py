"""The modules in C: each is optional, and used only if it was built from the sources of this version.

A module in C that is older than the Python beside it may expect other arguments, or find other things. This happens in
a checkout that was updated and not installed again. So each has the number of the interface it was built for.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, Final

INTERFACE: Final = 1
"""As in ``core/native.h``; to be raised with every change of what a module in C takes or returns."""

_stale: set[str] = set()


def native_module(name: str) -> Any:
    """Return a module in C, or ``None`` if it was not built, or for another version."""
    try:
        module = import_module(name)
    except ImportError:  # built without a compiler
        return None
    if getattr(module, "INTERFACE", None) == INTERFACE:
        return module
    if not _stale:
        warnings.warn(
            f"{name} was built for another version of Scoter, so slower code in Python is used; "
            "install Scoter again: pip install --force-reinstall, or make dev in a checkout",
            RuntimeWarning,
            stacklevel=2,
        )
    _stale.add(name)
    return None
