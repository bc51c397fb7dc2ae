"""Keep the tree easy to enter: noun modules, unique class names, short files, no import cycles."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
MOST_LINES = 450
NOUNS_IN_ING = {"fetching", "encoding", "scoring", "querystring", "loading", "main_thing"}


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    long = {
        name: count for name, path in MODULES.items() if (count := len(path.read_bytes().splitlines())) > MOST_LINES
    }

    assert long == {}


def test_module_names_are_nouns() -> None:
    gerunds = {
        name for name in MODULES if (leaf := name.rpartition(".")[2]).endswith("ing") and leaf not in NOUNS_IN_ING
    }

    assert gerunds == set()


def test_class_names_have_one_meaning() -> None:
    found = defaultdict(list)
    for name, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)

    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {name: _imports(tree) - {name} for name, tree in trees().items()}

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def _imports(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & MODULES.keys()
