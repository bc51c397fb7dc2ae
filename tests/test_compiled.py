"""The modules that a release compiles: what mypyc would spoil must not stand in them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPILED = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]["include"]


def _classes(module: str) -> list[ast.ClassDef]:
    tree = ast.parse((ROOT / module).read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("module", COMPILED)
def test_a_compiled_module_defines_no_record(module: str) -> None:
    """mypyc passes over the keywords of a class: a struct would no longer be frozen."""
    assert [each.name for each in _classes(module) if each.keywords] == []


def test_no_plug_in_is_compiled() -> None:
    """A plug-in's docstring is shown to users and its signatures are checked; mypyc keeps neither."""
    points = PROJECT["project"]["entry-points"].values()
    modules = {entry.partition(":")[0] for names in points for entry in names.values()}
    compiled = {module.removeprefix("src/").removesuffix(".py").replace("/", ".") for module in COMPILED}

    assert modules & compiled == set()
