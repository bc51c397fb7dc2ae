"""The modules in C are used only if they were built for this version."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from scoter import native
from scoter.native import INTERFACE, native_module

SOURCES = Path(native.__file__).parent


@pytest.fixture
def stale(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of two modules of an older version."""
    monkeypatch.setattr(native, "_stale", set())
    names = ["scoter._one", "scoter._other"]
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    return names


def test_stale_modules_are_refused_with_one_warning_that_says_what_to_do(stale: list[str]) -> None:
    with pytest.warns(RuntimeWarning, match="scoter._one was built for another version.*pip install") as said:
        found = [native_module(name) for name in stale]

    assert found == [None, None]
    assert len(said) == 1


def test_module_of_this_version_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("scoter._new")
    monkeypatch.setattr(module, "INTERFACE", INTERFACE, raising=False)
    monkeypatch.setitem(sys.modules, "scoter._new", module)

    assert native_module("scoter._new") is module


def test_missing_module_is_none_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert native_module("scoter._missing") is None


def test_sources_in_c_and_python_have_the_same_interface() -> None:
    found = re.search(r"^#define SCOTER_INTERFACE (\d+)$", (SOURCES / "core" / "native.h").read_text(), re.MULTILINE)

    assert found is not None
    assert int(found[1]) == INTERFACE


def test_every_module_in_c_tells_its_interface() -> None:
    sources = sorted(SOURCES.rglob("_*.c"))

    assert len(sources) > 3
    for each in sources:
        assert "return module_of(&definition);" in each.read_text(), each
