"""The modules that a release compiles contain nothing that mypyc would break."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPILED = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]["include"]
NAMES = {module.removeprefix("src/").removesuffix(".py").replace("/", ".") for module in COMPILED}

_IMPORTS = re.compile(r"from ([\w.]+) import (\([^)]*\)|.+)")
_BASES = re.compile(r"class \w+\(([^)]*)\)")
_WORD = re.compile(r"\w+")


def _classes(module: str) -> list[ast.ClassDef]:
    tree = ast.parse((ROOT / module).read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("module", COMPILED)
def test_compiled_module_defines_no_struct(module: str) -> None:
    """mypyc ignores class keywords: a struct would no longer be frozen."""
    assert [each.name for each in _classes(module) if each.keywords] == []


def _heirs(text: str) -> list[str]:
    """Return the classes of a module that inherit from a compiled class."""
    imported = {word for name, words in _IMPORTS.findall(text) if name in NAMES for word in _WORD.findall(words)}
    if imported.isdisjoint(word for words in _BASES.findall(text) for word in _WORD.findall(words)):
        return []  # parsing every module would take seconds
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in NAMES]
    closed = {alias.asname or alias.name for node in imports for alias in node.names}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return [node.name for node in classes for base in node.bases if ast.unparse(base) in closed]


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_no_class_inherits_from_a_compiled_class(folder: str) -> None:
    """Interpreted classes cannot inherit from classes that mypyc compiled."""
    assert [heir for path in (ROOT / folder).rglob("*.py") for heir in _heirs(path.read_text())] == []


@pytest.mark.parametrize(
    "imported", ["{0} import Url", "{0} import (\n    Other,\n    Url,\n)", "{0} import Any as Url"]
)
def test_heir_of_a_compiled_class_is_found(imported: str) -> None:
    text = f"from {imported.format(min(NAMES))}\n\nclass Mine(\n    Url, frozen=True\n):\n    pass\n"

    assert _heirs(text) == ["Mine"]


def test_no_plugin_is_compiled() -> None:
    """A plug-in's docstring is shown to users and its signatures are checked; mypyc drops both."""
    points = PROJECT["project"]["entry-points"].values()
    modules = {entry.partition(":")[0] for names in points for entry in names.values()}

    assert modules & NAMES == set()


@pytest.mark.parametrize("module", COMPILED)
def test_no_attribute_becomes_a_keyword_of_c(module: str) -> None:
    """mypyc puts an underscore before the name of an attribute, and gcc has keywords such as ``__inline``."""
    tree = ast.parse((ROOT / module).read_text())
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    keywords = "alignof asm attribute complex const imag inline label real restrict signed thread typeof volatile"

    assert attributes & {f"_{word}" for word in keywords.split()} == set()
