"""The OpenAPI document of the REST API describes its route table."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.batch.api.crawls import BatchBench

from scoter.batch.api.app import BATCH_ROUTES


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
