"""The dashboards in ``deploy/grafana`` ask for metrics that exist, with labels that they have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.live.service.running import service

from scoter.batch.api.services import BatchMetrics

ROOT = Path(__file__).parents[2]
DASHBOARDS = {file.stem: json.loads(file.read_text()) for file in (ROOT / "deploy" / "grafana").glob("*.json")}
_SUFFIX = re.compile(r"_(bucket|sum|count)$")


def queries(node: Any) -> Iterator[str]:
    """Yield the queries of panels and variables."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name in ("expr", "query") and isinstance(value, str):
                yield value
            else:
                yield from queries(value)
    elif isinstance(node, list):
        for each in node:
            yield from queries(each)


def metrics_of(dashboard: Any) -> set[str]:
    return {name for query in queries(dashboard) for name in re.findall(r"\bscoter_\w+", query)}


def shown(scrape: str) -> set[str]:
    """Return the names of series: of a histogram, those of its buckets, sum and count."""
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", scrape, re.MULTILINE))
    parts = {f"{name}_{part}" for name, kind in kinds.items() if kind == "histogram" for part in ("bucket", "count")}
    return parts | {name for name, kind in kinds.items() if kind != "histogram"}


def test_there_are_dashboards_of_crawls_and_of_the_live_service() -> None:
    assert DASHBOARDS.keys() == {"crawls", "live"}


def test_metrics_on_the_dashboard_of_crawls_exist() -> None:
    assert metrics_of(DASHBOARDS["crawls"]) - shown(BatchMetrics().text().decode()) == set()


def test_metrics_on_the_dashboard_of_the_live_service_exist(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "live-cluster.md").read_text()
    rows = re.findall(r"^\| (`scoter_.*?) \|", text, re.MULTILINE)
    of_cluster = {name for row in rows for name in re.findall(r"scoter_\w+", row)}
    with service(tmp_path, 9) as running:
        of_one = shown(running.get("/metrics").body.decode())

    asked = {_SUFFIX.sub("", name) for name in metrics_of(DASHBOARDS["live"])}
    assert asked - {_SUFFIX.sub("", name) for name in of_one} - of_cluster == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_have_titles_units_and_places_of_their_own(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    for panel in panels:
        assert panel["title"]
        if panel["type"] != "row":
            assert panel["targets"], panel["title"]
            assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def test_every_metric_of_crawls_is_documented() -> None:
    text = (ROOT / "docs" / "rest.md").read_text()

    assert set(re.findall(r"`(scoter_\w+)`", text)) == metrics_named(BatchMetrics().text().decode())


def metrics_named(scrape: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\w+) ", scrape, re.MULTILINE))
