"""Readiness, metrics and statistics."""

from __future__ import annotations

import re

from tests.live.api.fakes import NOW, Bench, page, record_of

from scoter.core.reply import Gone, Reason
from scoter.core.url import canonical
from scoter.http.metrics import MAX_SERIES, Counter, Histogram, render
from scoter.live.api.records import DomainActivity
from scoter.live.pipeline.context import Context
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority


def done(url: str = "http://a.example/") -> Context:
    entry = JournalEntry(id=1, message="m", url=url, priority=Priority.NORMAL, force=False, callback="", accepted=NOW)
    return Context(
        entry=entry,
        url=canonical(url),
        fetch="f",
        record=record_of(url),
        reply=Gone(canonical(url), Reason.ROBOTS_DENIED),
        exchanges=(page(url).exchange,),
        waited=1.0,
        remote=0.5,
        timings=(("resolve", 1.75), ("record", 0.02)),
    )


async def test_readiness_check_says_why_the_service_is_not_ready() -> None:
    bench = Bench(not_ready=lambda: "the disk is almost full")

    got = await bench.client.get("/readyz")

    assert got.status == 503
    assert got.json["detail"] == "the disk is almost full"
    assert (await bench.client.get("/healthz")).status == 200


async def test_finished_url_updates_every_metric() -> None:
    bench = Bench()

    bench.metrics.done(done())

    text = (await bench.client.get("/metrics")).body.decode()
    assert 'scoter_urls_total{state="ok"} 1\n' in text
    assert 'scoter_robots_total{reason="robots_denied"} 1\n' in text
    assert "scoter_fetched_bytes_total 8\n" in text
    assert 'scoter_stage_seconds_bucket{stage="resolve",le="1"} 0\n' in text
    assert 'scoter_stage_seconds_bucket{stage="resolve",le="2.5"} 1\n' in text
    assert 'scoter_stage_seconds_count{stage="own"} 1\n' in text
    assert 'scoter_stage_seconds_bucket{stage="own",le="0.5"} 1\n' in text
    assert 'scoter_queue_depth{priority="bulk"} 0\n' in text


async def test_metrics_are_valid_prometheus_text() -> None:
    bench = Bench()
    bench.metrics.done(done())
    bench.metrics.errors.add('odd"\\\nreason')
    await bench.client.get("/nowhere")

    text = (await bench.client.get("/metrics")).body.decode()

    line = re.compile(r"# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+=\"([^\"\\\n]|\\[\\\"n])*\",?)+\})? -?[0-9.e+-]+")
    assert [each for each in text.splitlines() if not line.fullmatch(each)] == []


async def test_stats_show_counts_queue_depths_and_stage_times() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"], "priority": "bulk"})
    bench.metrics.done(done())

    got = await bench.client.get("/v1/stats")

    assert got.json["counts"]["messages.accepted"] == 1
    assert got.json["gauges"]["queue_depth.bulk"] == 1
    assert got.json["stages"]["resolve"] == {"count": 1, "median": 2.5, "p99": 2.5}


def test_histogram_counts_values_beyond_its_bounds() -> None:
    times = Histogram("h", "H.", "of", bounds=(1.0, 2.0))

    for seconds in (0.5, 1.0, 1.5, 9.0):
        times.observe("x", seconds)

    text = render([times]).decode()
    assert 'h_bucket{of="x",le="1"} 2\n' in text
    assert 'h_bucket{of="x",le="2"} 3\n' in text
    assert 'h_bucket{of="x",le="+Inf"} 4\n' in text
    assert 'h_sum{of="x"} 12\n' in text
    assert times.within("x", 0.5) == 1.0
    assert times.within("x", 0.99) is None


def test_labels_beyond_the_limit_are_counted_as_other() -> None:
    counter = Counter("c", "C.", ("of",))

    for n in range(MAX_SERIES + 50):
        counter.add(str(n))

    assert len(counter.values) == MAX_SERIES + 1
    assert counter.values[("other",)] == 50


async def test_activity_shows_rates_and_pauses_of_domains() -> None:
    found = DomainActivity(domain="a.example", waiting=3, active=1, rate=2.5, delay=1.0, until=NOW, why="the delay")
    bench = Bench(activity=lambda most: [found][:most])

    got = await bench.client.get("/v1/activity?limit=5")

    assert got.json["domains"][0]["why"] == "the delay"
    assert got.json["domains"][0]["rate"] == 2.5
    assert (await bench.client.get("/v1/activity?limit=0")).status == 422
