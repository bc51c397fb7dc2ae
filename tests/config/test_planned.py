"""Planned settings: nothing reads them, and setting one causes a warning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run, run

from scoter.config.sections import SECTIONS, fields

__all__ = ["run"]

PLANNED = {name for name, field in fields().items() if field.setting.planned}
PLANNED_SECTIONS = [name for name, section in SECTIONS.items() if section.planned]

CODE = "".join(
    path.read_text("utf-8")
    for path in (Path(__file__).parents[2] / "src" / "scoter").rglob("*.py")
    if "config" not in path.parts
)


def test_planned_settings_are_those_that_no_code_reads() -> None:
    names = {*re.findall(r"\.(\w+)", CODE), *re.findall(r'"(\w+)(?=")', CODE)}
    # Some names are composed: a rule file for each scope of the regex normaliser, limits for each signal of quality.
    composed = re.compile(r"urlnormalizer\.regex_file_|corpus\.(min|max)_")
    unnamed = {
        name
        for name, field in fields().items()
        if field.section not in PLANNED_SECTIONS and not composed.match(name) and field.key not in names
    }

    # A key that another section uses says nothing.
    used = {field.key for name, field in fields().items() if name not in PLANNED}
    planned = {name for name in PLANNED if name.partition(".")[0] not in PLANNED_SECTIONS}
    assert unnamed == {name for name in planned if fields()[name].key not in used}
    assert not any(re.search(rf"config\.{name}\b", CODE) for name in PLANNED_SECTIONS)


def test_setting_a_planned_setting_warns_unless_it_is_the_default(run: Run, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(run("config", "show", "--defaults").out)
    whole = run("filterchecker", "-c", "all.toml", "http://a.example/")
    name = next((each for each in sorted(PLANNED) if fields()[each].type.item is str), None)
    if name is None:
        pytest.skip("no planned setting takes a text")
    told = run("filterchecker", "-D", f"{name}=x", "http://a.example/")
    quiet = run("filterchecker", "-D", f"{name}=x", "--quiet", "http://a.example/")

    assert whole.err == quiet.err == ""
    assert told.err == f"scoter: -D {name}: {name} has no effect yet\n"
    assert told.code == 0
