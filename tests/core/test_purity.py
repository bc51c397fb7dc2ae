"""The import contract of the core names every dependency that the core must not use."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final[Mapping[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ALLOWED: Final[Mapping[str, str]] = {
    "ada_url": "splits URLs",
    "msgspec": "frozen records",
    "numpy": "bits of a signature, in arrays",
    "protego": "reads rules of robots.txt",
    "publicsuffixlist": "finds registered domains, in a list that it holds",
    "re2": "patterns in linear time",
    "regex": "patterns that RE2 cannot express, under a time limit",
    "xxhash": "fast digests",
}
IMPORT_NAMES: Final[Mapping[str, str]] = {  # where it is not the name of the distribution
    "google-re2": "re2",
    "ibis-framework": "ibis",
    "pillow": "PIL",
}


def dependencies() -> set[str]:
    """The import names of what the project and its extras depend on, except for tests and documentation."""
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    groups = [extras[name] for name in extras if name not in ("dev", "site")]
    required = [*project["dependencies"], *(each for group in groups for each in group)]
    names = {match[0] for each in required if (match := re.match(r"[\w-]+", each))}
    return {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}


def forbidden() -> set[str]:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each.get("id") == "core"]
    return set(contract["forbidden_modules"])


def imported() -> set[str]:
    """The libraries that modules of the core import."""
    found = set()
    for path in (ROOT / "src/scoter/core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"scoter"}


def test_every_dependency_is_forbidden_in_the_core_or_allowed_for_a_reason() -> None:
    assert dependencies() - forbidden() - ALLOWED.keys() == set()
    assert forbidden() & ALLOWED.keys() == set()


def test_the_core_imports_just_the_libraries_that_are_allowed() -> None:
    assert imported() == ALLOWED.keys()
