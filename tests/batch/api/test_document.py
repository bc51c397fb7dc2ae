"""The OpenAPI document of the REST API describes its route table."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from tests.batch.api.crawls import NOW, BatchBench
from tests.waiting import until

from scoter.batch.api.app import BATCH_ROUTES
from scoter.batch.api.crawl_metrics import CrawlMetrics
from scoter.batch.api.records import CrawlInfo, ProgressPoint
from scoter.http.metrics import render


async def test_openapi_document_is_served_and_lists_every_route(tmp_path: Path) -> None:
    got = await BatchBench(tmp_path).client.get("/v1/openapi.json")

    named = {(path, method.upper()) for path, methods in got.json["paths"].items() for method in methods}
    assert named == {(route.path, route.method) for route in BATCH_ROUTES}


def test_openapi_document_is_valid(tmp_path: Path) -> None:
    validator = importlib.import_module("openapi_spec_validator")

    validator.validate(BatchBench(tmp_path).document)


def test_openapi_references_resolve_and_operations_have_unique_names(tmp_path: Path) -> None:
    document = BatchBench(tmp_path).document
    text = str(document)

    for name in document["components"]["schemas"]:
        assert f"#/components/schemas/{name}'" in text
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


async def test_health_metrics_and_unknown_paths_are_answered(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)

    assert (await bench.client.get("/healthz")).status == 200
    assert (await bench.client.get("/readyz")).status == 200
    assert b"scoter_http_requests_total" in (await bench.client.get("/metrics")).body
    assert (await bench.client.get("/v1/crawls/a/b/c/d")).status == 404
    assert (await bench.client.ask("DELETE", "/v1/crawls/news")).status == 405


async def test_metrics_of_crawls_are_read_after_somebody_asked_for_metrics(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.add_crawl("news")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "crawl.json").write_text("{")

    async def scrape() -> str:
        return (await bench.client.get("/metrics")).body.decode()

    assert 'crawl="news"' not in await scrape()
    await bench.services.count_crawls()
    shown = await scrape()

    assert 'scoter_crawls{state="unusable"} 1' in shown
    assert 'scoter_crawl_rounds{crawl="news"} 2' in shown
    assert 'scoter_crawl_running{crawl="news"} 0' in shown
    await until(lambda: bench.services.summaries.one("news").by_status != {})
    await bench.services.count_crawls()
    assert re.search(r'scoter_crawl_urls\{crawl="news",status="fetched"\} [1-9]', await scrape())


def test_metrics_of_a_running_crawl_are_those_of_its_progress() -> None:
    point = ProgressPoint(time=NOW, command="crawl", pages_per_second=2.5, active=3, errors={"timeout": 4})
    metrics = CrawlMetrics(
        [
            CrawlInfo(name="news", state="running", progress=point, last_activity=NOW),
            CrawlInfo(name="old", state="finished", progress=point),
        ]
    )

    shown = render(metrics.gauges).decode()

    assert 'scoter_crawl_page_rate{crawl="news"} 2.5' in shown
    assert 'scoter_crawl_requests{crawl="news"} 3' in shown
    assert 'scoter_crawl_fetch_errors{crawl="news",reason="timeout"} 4' in shown
    assert 'page_rate{crawl="old"}' not in shown
    assert 'scoter_crawls{state="running"} 1' in shown
