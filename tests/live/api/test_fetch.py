"""Direct fetches over HTTP."""

from __future__ import annotations

import asyncio
import base64
import gzip
from collections.abc import Sequence
from datetime import timedelta

import pytest
from tests.live.api.fakes import Bench, page

from scoter.config.sections.live import WebSettings
from scoter.core.reply import Exchange, Failed, Gone, Moved, Reason, Request, Truncation
from scoter.core.url import canonical
from scoter.live.api.records import Archived, DomainRule
from scoter.live.ports import HopReply
from scoter.live.records import Priority

A, B = "http://a.example/", "http://b.example/"


def moved(url: str, target: str) -> Moved:
    return Moved(page(url, b"", 301).exchange, canonical(target), permanent=True)


async def test_fetch_returns_status_headers_and_body() -> None:
    bench = Bench()

    got = await bench.client.post("/v1/fetch", {"url": "HTTP://a.example"})

    assert got.json["outcome"] == "fetched"
    assert got.json["status"] == 200
    assert got.json["headers"] == [["Content-Type", "text/html"]]
    assert base64.b64decode(got.json["body"]) == b"<p>hello"
    assert got.json["waited"] == 0.25
    assert bench.fetching.asked == [A]


async def test_body_is_decoded_and_truncated_at_the_requested_size() -> None:
    bench = Bench()
    packed = gzip.compress(b"x" * 1_000_000)
    bench.fetching.replies[A] = page(A, packed, headers=(("Content-Encoding", "gzip"),))

    got = await bench.client.post("/v1/fetch", {"url": A, "most": 100})

    assert base64.b64decode(got.json["body"]) == b"x" * 100
    assert got.json["truncated"]
    assert got.json["length"] == len(packed)


async def test_truncated_body_is_marked_as_truncated() -> None:
    bench = Bench()
    bench.fetching.replies[A] = page(A, truncation=Truncation.LENGTH)

    got = await bench.client.post("/v1/fetch", {"url": A, "body": "none"})

    assert got.json["truncated"]
    assert "body" not in got.json


async def test_redirect_is_followed_only_if_requested() -> None:
    bench = Bench()
    bench.fetching.replies[A] = moved(A, B)

    stayed = await bench.client.post("/v1/fetch", {"url": A})
    went = await bench.client.post("/v1/fetch", {"url": A, "hops": 3})

    assert (stayed.json["outcome"], stayed.json["target"]) == ("moved", B)
    assert (went.json["outcome"], went.json["url"]) == ("fetched", B)
    assert went.json["hops"] == [{"url": A, "status": 301}]
    assert went.json["waited"] == 0.5


async def test_redirect_loop_ends() -> None:
    bench = Bench()
    bench.fetching.replies = {A: moved(A, B), B: moved(B, A)}

    got = await bench.client.post("/v1/fetch", {"url": A, "hops": 10})

    assert got.json["outcome"] == "moved"
    assert len(bench.fetching.asked) == 11


async def test_failed_fetch_is_reported_in_a_200_response() -> None:
    bench = Bench()
    bench.fetching.replies[A] = Gone(canonical(A), Reason.ROBOTS_DENIED, "robots.txt forbids it")
    bench.fetching.replies[B] = Failed(canonical(B), Reason.REFUSED_ADDRESS, "10.0.0.1 is not public")

    gone = await bench.client.post("/v1/fetch", {"url": A})
    refused = await bench.client.post("/v1/fetch", {"url": B})

    assert (gone.status, gone.json["outcome"], gone.json["reason"]) == (200, "gone", "robots_denied")
    assert (refused.status, refused.json["outcome"], refused.json["reason"]) == (200, "failed", "refused_address")


async def test_blocked_domain_is_not_requested_at_any_hop() -> None:
    bench = Bench()
    await bench.stores.rules.put(DomainRule(domain="b.example", blocked=True))
    bench.fetching.replies[A] = moved(A, B)

    got = await bench.client.post("/v1/fetch", {"url": A, "hops": 1})

    assert got.status == 403
    assert bench.fetching.asked == [A]


class _Archive:
    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        return [Archived("x.warc.gz", 7, len(each.body)) for each in exchanges]


async def test_body_can_be_returned_as_an_archive_reference() -> None:
    bench = Bench(content=_Archive())

    got = await bench.client.post("/v1/fetch", {"url": A, "body": "reference"})

    assert got.json["archived"] == {"file": "x.warc.gz", "offset": 7, "length": 8}
    assert "body" not in got.json


async def test_archive_reference_without_an_archive_is_refused() -> None:
    got = await Bench().client.post("/v1/fetch", {"url": A, "body": "reference"})

    assert (got.status, got.json["where"]) == (422, "/body")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"url": "nonsense"}, "/url"),
        ({"url": A, "hops": 11}, "/hops"),
        ({"url": A, "most": 2**40}, "/most"),
        ({"url": A, "body": "all"}, "/body"),
        ({"url": A, "headers": {"X": "y\r\nz"}}, ""),
    ],
)
async def test_invalid_fetch_request_names_the_field(body: object, where: str) -> None:
    got = await Bench().client.post("/v1/fetch", body)

    assert got.status == 422
    assert got.json.get("where", "") == where


class _Stuck:
    async def fetch(self, request: Request, priority: Priority) -> HopReply:
        await asyncio.Event().wait()
        raise AssertionError


def _within(seconds: float) -> WebSettings:
    return WebSettings(fetch_time=timedelta(seconds=seconds))


async def test_fetch_that_times_out_frees_its_slot() -> None:
    bench = Bench(
        fetching=_Stuck(), fetch_slots=asyncio.Semaphore(1), web=WebSettings(fetch_time=timedelta(seconds=0.01))
    )

    first = await bench.client.post("/v1/fetch", {"url": A})
    second = await bench.client.post("/v1/fetch", {"url": A})

    assert (first.status, second.status) == (504, 504)


async def test_concurrent_fetches_are_limited() -> None:
    bench = Bench(fetching=_Stuck(), fetch_slots=asyncio.Semaphore(1), web=_within(5))
    first = asyncio.create_task(bench.client.post("/v1/fetch", {"url": A}))
    await asyncio.sleep(0)

    got = await bench.client.post("/v1/fetch", {"url": A})

    assert got.status == 503
    first.cancel()
