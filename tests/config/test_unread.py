"""Settings without effect: which they are, and that whoever sets one hears of it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import Run, run

from scoter.config.sections import fields
from scoter.config.unread import SECTIONS, UNREAD
from scoter.plugins import POINTS

__all__ = ["run"]

CODE = "".join(
    path.read_text("utf-8")
    for path in (Path(__file__).parents[2] / "src" / "scoter").rglob("*.py")
    if "config" not in path.parts
)


def test_the_settings_that_no_code_names_are_those_that_are_said_to_have_no_effect() -> None:
    # Those of the regex normaliser are put together: one for each scope.
    unnamed = {
        name
        for name, field in fields().items()
        if field.section not in SECTIONS
        and not field.key.startswith("regex_file_")
        and not re.search(rf'\.{field.key}\b|"{field.key}"', CODE)
    }

    asked = re.findall(r'(?:\bchain|\bactive|POINTS)[(\[]"(\w+)"', CODE)
    unasked = {point.chain for point in POINTS.values() if point.name.startswith("index")}

    assert not {"indexingfilter", "indexwriter"} & set(asked)
    assert unnamed | unasked == {name for name in UNREAD if name.partition(".")[0] not in SECTIONS}
    assert not re.search(rf"config\.(?:{'|'.join(SECTIONS)})\b", CODE)


def test_whoever_sets_one_is_told_and_who_takes_over_all_defaults_is_not(run: Run, tmp_path: Path) -> None:
    (tmp_path / "all.toml").write_text(run("config", "show", "--defaults").out)
    whole = run("filterchecker", "-c", "all.toml", "http://a.example/")
    told = run("filterchecker", "-D", "generate.max_count_expr=x", "http://a.example/")
    quiet = run("filterchecker", "-D", "generate.max_count_expr=x", "--quiet", "http://a.example/")

    assert whole.err == quiet.err == ""
    assert told.err == "scoter: -D generate.max_count_expr: generate.max_count_expr has no effect yet\n"
    assert told.code == 0


def test_who_names_an_index_is_told_that_there_is_none(run: Run) -> None:
    told = run("filterchecker", "-D", "index.writers=elastic", "http://a.example/")

    assert told.err == "scoter: -D index.writers: index.writers has no effect yet\n"
