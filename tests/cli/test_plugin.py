from __future__ import annotations

import json

from tests.cli.conftest import Run


def test_list_shows_the_position_in_the_active_chain(run: Run) -> None:
    rows = [json.loads(line) for line in run("plugin", "list", "--json").out.splitlines()]
    by_name = {row["plugin"]: row for row in rows}

    assert by_name["urlfilter-validator"]["active"] == "1 of 2"
    assert by_name["urlfilter-regex"]["active"] == ""
    assert by_name["schedule-default"]["active"] == "1 of 1"


def test_list_can_be_limited_to_one_point(run: Run) -> None:
    rows = [json.loads(line) for line in run("plugin", "list", "--point", "signature", "--json").out.splitlines()]

    assert {row["point"] for row in rows} == {"signature"}


def test_points_table_has_a_heading_and_one_line_per_point(run: Run) -> None:
    lines = run("plugin", "list", "--points").out.splitlines()

    assert lines[0].split() == ["point", "setting", "what", "it", "does"]
    assert len(lines) == 2 + 15
