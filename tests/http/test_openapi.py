"""The OpenAPI document describes the route table."""

from __future__ import annotations

import importlib

import pytest
from tests.live.api.fakes import Bench

from scoter.live.api.app import ROUTES


async def test_openapi_document_is_served_and_lists_every_route() -> None:
    bench = Bench()

    got = await bench.client.get("/v1/openapi.json")

    named = {(path, method.upper()) for path, methods in got.json["paths"].items() for method in methods}
    assert named == {(route.path, route.method) for route in ROUTES}
    assert got.json["openapi"].startswith("3.1.")


async def test_openapi_document_is_valid() -> None:
    validator = importlib.import_module("openapi_spec_validator")

    validator.validate(Bench().document)


async def test_openapi_references_resolve() -> None:
    document = Bench().document
    text = str(document)

    for name in document["components"]["schemas"]:
        assert f"#/components/schemas/{name}'" in text


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/urls", "/v1/urls/lookup", "/v1/fetch", "/v1/events", "/v1/stats", "/metrics"]
)
async def test_every_path_of_the_openapi_document_exists(path: str) -> None:
    bench = Bench()
    method = next(iter(bench.document["paths"][path]))

    got = (
        await bench.client.ask(method.upper(), path + "?nonsense=1", b"{", (("Content-Type", "application/json"),))
        if path != "/v1/events"
        else None
    )

    assert got is None or got.status != 404
