"""The blocking and the async clients have the same methods, and type checkers know what each returns."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Iterator
from typing import Any, assert_type

import pytest

from scoter.batch.api.question_records import SqlResult
from scoter.batch.api.records import CrawlInfo, JobInfo
from scoter.client import AsyncClient, AsyncCrawlClient, Client, CrawlClient, Missing, Receipt, UrlRecord


def methods(client: type[Any]) -> dict[str, inspect.Signature]:
    found = {name: value for name, value in inspect.getmembers(client, callable) if not name.startswith("_")}
    return {name: inspect.signature(value) for name, value in found.items()}


def parameters(signature: inspect.Signature) -> list[tuple[Any, ...]]:
    return [
        (each.name, each.kind, each.annotation, None if callable(each.default) else each.default)
        for each in signature.parameters.values()
    ]


@pytest.mark.parametrize(("blocking", "awaited"), [(Client, AsyncClient), (CrawlClient, AsyncCrawlClient)])
def test_blocking_and_async_clients_have_the_same_methods(blocking: type[Any], awaited: type[Any]) -> None:
    ours, theirs = methods(blocking), methods(awaited)

    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"submit_many"}:  # the async one also takes what arrives over time
        assert parameters(ours[name]) == parameters(theirs[name]), name
        assert getattr(blocking, name).__doc__, name


def test_method_shows_its_parameters_result_and_docstring() -> None:
    assert (
        str(inspect.signature(Client.lookup)) == "(self, /, url: 'str', wait: 'float' = 0.0) -> 'UrlRecord | Missing'"
    )
    assert str(inspect.signature(Client().lookup_many)) == "(urls: 'Iterable[str]') -> 'Iterator[UrlRecord | Missing]'"
    assert Client.lookup.__doc__ == "Return the record of a URL; wait up to ``wait`` seconds for it."
    assert inspect.iscoroutinefunction(AsyncClient.lookup)
    assert inspect.isasyncgenfunction(AsyncCrawlClient.urls)


def check_blocking_types(client: Client, crawls: CrawlClient) -> None:
    """Is never called: the type checker fails if it no longer knows these types."""
    assert_type(client.submit("text", urls=["http://a.example/"], force=True), Receipt)
    assert_type(client.lookup("http://a.example/", wait=1), UrlRecord | Missing)
    assert_type(client.lookup_many(["http://a.example/"]), Iterator[UrlRecord | Missing])
    assert_type(crawls.create("news", ["http://a.example/"], rounds=2), CrawlInfo)
    assert_type(crawls.urls("news", status="fetched"), Iterator[dict[str, Any]])
    client.submit("text", wrong=1)  # type: ignore[call-arg]
    client.preview(b"http://a.example/")  # type: ignore[arg-type]
    crawls.stop("news", "1", how="now")  # type: ignore[arg-type]


async def check_async_types(client: AsyncClient, crawls: AsyncCrawlClient) -> None:
    """Is never called: the type checker fails if it no longer knows these types."""
    assert_type(await client.submit("text", urls=["http://a.example/"], force=True), Receipt)
    assert_type(client.lookup_many(["http://a.example/"]), AsyncGenerator[UrlRecord | Missing, None])
    assert_type(await crawls.jobs("news"), list[JobInfo])
    assert_type(await crawls.sql("news", "SELECT 1", limit=1), SqlResult)
    await client.submit("text", wrong=1)  # type: ignore[call-arg]
    await crawls.sql("news", "SELECT 1", 1)  # type: ignore[call-arg]
