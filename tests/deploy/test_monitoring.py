"""The alerts in ``deploy/prometheus`` are valid, fire when they should, and ask for series that a service has."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.live.kafka.conftest import own_topics
from tests.live.kafka.running import cluster
from tests.live.service.running import Service, pages, service
from tests.servers.cluster import is_up

from scoter.simweb import SimServer, WebSpec, running

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
CASES = Path(__file__).parent / "alerts_cases.yaml"
ONE_MACHINE, CLUSTER = "scoter-one-machine", "scoter-cluster"
WEB = WebSpec(seed=41, hosts=10, pages=50, page_bytes=500)  # other tests know the hosts of other seeds
(URL,) = pages(WEB, 1)
_SELECTOR = re.compile(r"\b(scoter_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"')


def groups() -> dict[str, list[dict[str, Any]]]:
    return {each["name"]: each["rules"] for each in yaml.safe_load(ALERTS.read_text())["groups"]}


def selectors(rule: dict[str, Any]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return the series that a rule asks for, each with its matchers."""
    return [(name, _MATCHER.findall(matchers)) for name, matchers in _SELECTOR.findall(rule["expr"])]


def has_series(scrape: str, name: str, matchers: list[tuple[str, str, str]]) -> bool:
    """Return whether a sample has the name, the labels, and the values where they must be equal."""
    samples = re.findall(rf"^{name}(?:\{{(.*)\}})? \S+$", scrape, re.MULTILINE)
    wanted = [f'{label}="{value}"' if operator == "=" else f'{label}="' for label, operator, value in matchers]
    return any(all(each in labels for each in wanted) for labels in samples)


def missing(scrape: str, *without: str) -> list[str]:
    return [
        f"{rule['alert']}: {name}"
        for group, rules in groups().items()
        if group not in without
        for rule in rules
        for name, matchers in selectors(rule)
        if not has_series(scrape, name, matchers)
    ]


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WEB) as found:
        yield found


def test_every_alert_asks_for_series_of_a_service(tmp_path: Path, web: SimServer) -> None:
    with service(tmp_path, web.port) as live:
        assert live.submit(URL).status == 202
        live.record(URL)

        live.wait_for(lambda: 'stage="own"' in live.get("/metrics").body.decode())
        assert missing(live.get("/metrics").body.decode(), CLUSTER) == []


def _is_scraped(live: Service, wanted: re.Pattern[str]) -> bool:
    return wanted.search(live.get("/metrics").body.decode()) is not None


@pytest.mark.cluster
def test_every_alert_asks_for_series_of_a_service_on_several_machines(tmp_path: Path, web: SimServer) -> None:
    if not is_up():
        pytest.skip("Kafka and Cassandra do not run; start them with: make cluster-up")
    with ExitStack() as stack:
        prefix = stack.enter_context(own_topics())
        live = stack.enter_context(cluster(tmp_path, web.port, prefix, ("worker", "pipeline", "api"))).api
        # What a role has measured before the api hears of it does not count.
        live.wait_for(lambda: 'scoter_processes{role="pipeline"} 1' in live.get("/metrics").body.decode())
        assert live.submit(URL).status == 202
        live.record(URL)

        live.wait_for(lambda: missing(live.get("/metrics").body.decode(), ONE_MACHINE) == [])
        # The scrape is about all roles, not only about the api; these report every few seconds.
        for name in ("scoter_fetched_bytes_total", 'scoter_cassandra_seconds_count{operation="write"}'):
            counted = re.compile(rf"^{re.escape(name)} [1-9]", re.MULTILINE)
            live.wait_for(partial(_is_scraped, live, counted))
        scrape = live.get("/metrics").body.decode()
        assert 'scoter_consumer_lag{topic="requests"}' in scrape


def test_a_series_that_does_not_exist_would_be_noticed() -> None:
    scrape = 'scoter_urls_total{state="ok"} 1\nscoter_log_behind 0\n'

    assert has_series(scrape, "scoter_urls_total", [("state", "=", "ok")])
    assert not has_series(scrape, "scoter_urls_total", [("state", "=", "lost")])
    assert not has_series(scrape, "scoter_log", [])
    assert "ScoterWorkersDie: scoter_fetcher_restarts_total" in missing(scrape)


def test_every_alert_says_how_bad_it_is_and_what_it_means() -> None:
    rules = [rule for each in groups().values() for rule in each]

    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert rule["annotations"]["summary"], rule["alert"]


def test_every_alert_has_a_case() -> None:
    cases = yaml.safe_load(CASES.read_text())["tests"]

    tested = {alert["alertname"] for case in cases for alert in case["alert_rule_test"] if alert.get("exp_alerts")}
    assert tested == {rule["alert"] for each in groups().values() for rule in each}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (apt-get install prometheus)")
def test_alerts_fire_when_they_should() -> None:
    documented = f"promtool test rules {CASES.relative_to(ROOT)}"
    assert f"`{documented}`" in (ROOT / "docs" / "operations.md").read_text("utf-8")

    for command in (f"promtool check rules {ALERTS.relative_to(ROOT)}", documented):
        done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
