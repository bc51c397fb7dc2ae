"""Ibis without the compilers of the nineteen engines that are not used.

Its package of compilers imports all of them for whoever wants one, which is a tenth of what a command takes to start.
Here the package stands in ``sys.modules`` before Ibis asks for it, and imports a compiler when it is named. Whatever
else is asked of it, it becomes what it would have been.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

_PACKAGE = "ibis.backends.sql.compilers"


def import_few_compilers() -> None:
    """Let compilers be imported one by one from now on, unless all of them are there."""
    if _PACKAGE in sys.modules:
        return
    spec = find_spec(_PACKAGE)
    if spec is None or spec.loader is None:  # another Ibis: it knows best
        return
    package, loader = module_from_spec(spec), spec.loader

    def named(name: str) -> Any:
        if not name.startswith("_") and find_spec(f"{_PACKAGE}.{name}") is not None:
            return import_module(f"{_PACKAGE}.{name}")
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = named
    sys.modules[_PACKAGE] = package
