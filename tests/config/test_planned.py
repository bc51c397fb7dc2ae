"""Planned settings: nothing reads them, and setting one causes a warning."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import Run, run

from scoter.config.sections import SECTIONS, fields
from scoter.plugins import POINTS

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
    # The settings of the regex normaliser are composed: one for each scope.
    unnamed = {
        name
        for name, field in fields().items()
        if field.section not in PLANNED_SECTIONS and not field.key.startswith("regex_file_") and field.key not in names
    }

    asked = re.findall(r'(?:\bchain|\bactive|POINTS)[(\[]"(\w+)"', CODE)
    unasked = {point.chain for point in POINTS.values() if point.name.startswith("index")}

    assert not {"indexingfilter", "indexwriter"} & set(asked)
    assert unnamed | unasked == {name for name in PLANNED if name.partition(".")[0] not in PLANNED_SECTIONS}
    assert not re.search(rf"config\.(?:{'|'.join(PLANNED_SECTIONS)})\b", CODE)


def test_setting_a_planned_setting_warns_unless_it_is_the_default(run: Run, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(run("config", "show", "--defaults").out)
    whole = run("filterchecker", "-c", "all.toml", "http://a.example/")
    told = run("filterchecker", "-D", "generate.max_count_expr=x", "http://a.example/")
    quiet = run("filterchecker", "-D", "generate.max_count_expr=x", "--quiet", "http://a.example/")

    assert whole.err == quiet.err == ""
    assert told.err == "scoter: -D generate.max_count_expr: generate.max_count_expr has no effect yet\n"
    assert told.code == 0


def test_naming_an_index_writer_warns(run: Run) -> None:
    told = run("filterchecker", "-D", "index.writers=elastic", "http://a.example/")

    assert told.err == "scoter: -D index.writers: index.writers has no effect yet\n"
