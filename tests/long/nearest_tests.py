"""Find the test files most likely to notice a change of a module.

A test file is near if it is named after the module, if it imports the module over few steps (a name that a package
re-exports counts as imported from the module that defines it), and if it is in the folder that mirrors the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FARTHEST = 4
"""The most steps of imports from a test file to a module: more reaches nearly everything."""
_IMPORT = re.compile(r"^ *from ((?:scoter|tests)[\w.]*) import (\([^)]*\)|.+)", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?: as (\w+))?")
_PROGRAM = re.compile(r'"(scoter[\w.]+)"')  # the name of a module that runs as a process of its own
_SLOW = frozenset(
    {
        "tests/live/faults/test_clock.py",
        "tests/live/stores/test_growth.py",
        "tests/parse/hostile/test_hostile.py",
        "tests/store/tables/test_kills.py",
    }
)
"""Files that take a minute or more: they come last."""


def nearest_tests(module: Path, most: int) -> list[str]:
    """Return the test files for a module (``src/scoter/core/url.py``), nearest first, after its own doctests."""
    name = module.stem if module.stem != "__init__" else module.parent.name
    folders = module.relative_to("src/scoter").parent.parts
    ranked = []
    for test, distance in _distances(_dotted(module)).items():
        path = Path(*test.split(".")).with_suffix(".py")
        theirs = path.parts[1:-1]
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, theirs, strict=False)))
        likeness = _unlikeness(path, name, folders) if shared else 3
        ranked.append((str(path) in _SLOW, likeness, distance - shared, len(theirs), str(path)))
    doctests = [str(module)] if ">>> " in (ROOT / module).read_text("utf-8") else []
    return doctests + [path for *_, path in sorted(ranked)[:most]]


def _unlikeness(test: Path, module: str, folders: tuple[str, ...]) -> int:
    """Return 0 if a test is named after a module, 1 if partly, 2 if after the module's package, and otherwise 3."""
    words = test.stem.removeprefix("test_")
    if words == module:
        return 0
    if module in words or words in module:
        return 1
    return 2 if len(folders) > 1 and folders[-1] in words else 3


@cache
def _distances(dotted: str) -> dict[str, int]:
    """Return the steps of imports from each test module to a module; the farthest are left out."""
    importers = _importers()
    steps, latest = {dotted: 0}, {dotted}
    for distance in range(1, _FARTHEST + 1):
        latest = {importer for target in latest for importer in importers.get(target, ())} - steps.keys()
        steps |= dict.fromkeys(latest, distance)
    return {name: distance for name, distance in steps.items() if name.rpartition(".")[2].startswith("test_")}


@cache
def _importers() -> dict[str, set[str]]:
    """Return the modules that use each module."""
    found: dict[str, set[str]] = {}
    for importer, imported in _imports().items():
        for target in imported:
            found.setdefault(target, set()).add(importer)
    return found


def _imports() -> dict[str, set[str]]:
    """Return the modules that each module of the source and the tests uses."""
    files = {_dotted(file.relative_to(ROOT)): file for top in ("src", "tests") for file in (ROOT / top).rglob("*.py")}
    texts = {module: file.read_text("utf-8") for module, file in files.items()}
    names = {module: dict(_imported_names(text)) for module, text in texts.items()}

    def defining(source: str, name: str) -> str:
        while (inner := f"{source}.{name}") not in files:
            if source not in files or not (origin := names[source].get(name)):
                return source
            source, name = origin
        return inner

    def used(module: str) -> set[str]:
        found = {defining(*origin) for origin in names[module].values()}
        found.update(_PROGRAM.findall(texts[module]), [f"{module.rpartition('.')[0]}.conftest"])
        return found & files.keys() - {module}

    return {module: used(module) for module in files}


def _imported_names(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names that a module imports, each with its module and its name there."""
    for source, listed in _IMPORT.findall(text):
        for name, alias in _NAME.findall(listed):
            yield alias or name, (source, name)


def _dotted(path: Path) -> str:
    """Return a module's name: ``scoter.core.url`` for ``src/scoter/core/url.py``."""
    parts = path.with_suffix("").parts
    return ".".join(parts[parts[0] == "src" :]).removesuffix(".__init__")
