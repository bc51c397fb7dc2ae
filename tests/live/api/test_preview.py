"""A preview in one call: the URL is submitted if necessary, and its record returned."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import msgspec
import pytest
from tests.live.api.fakes import Bench, page, record_of, stored

from scoter.config import Config
from scoter.config.sections.live import LiveSettings
from scoter.core.metadata import Embed, PageMetadata
from scoter.core.reply import Failed, Reason
from scoter.core.url import canonical
from scoter.live.api.records import DomainRule

URL = "http://a.example/"
ENDPOINT = "http://embed.example/oembed?url=a"


async def with_embed(bench: Bench) -> None:
    """Store the record of a page with an oEmbed endpoint."""
    embed = Embed(url=ENDPOINT, media_type="application/json+oembed")
    record = msgspec.structs.replace(record_of(URL), metadata=PageMetadata(title="A", embeds=(embed,)))
    await bench.stores.metadata.put([stored(record)])


async def test_preview_submits_the_url_and_returns_its_record() -> None:
    bench = Bench()
    asking = asyncio.create_task(bench.client.get("/v1/preview?url=HTTP://A.example"))
    while not len(bench.waiters):
        await asyncio.sleep(0)

    assert await bench.work() == 1

    got = await asking
    assert (got.status, got.json["url"]) == (200, URL)
    assert got.headers["etag"]


async def test_fresh_record_is_returned_at_once() -> None:
    bench = Bench(most_waiting=0)
    await bench.know(URL)

    got = await bench.client.get(f"/v1/preview?url={URL}")
    again = await bench.client.get(f"/v1/preview?url={URL}", ("If-None-Match", got.headers["etag"]))

    assert (got.status, again.status) == (200, 304)
    assert bench.stores.journal.waiting() == 0


async def test_expired_record_is_fetched_again_and_returned_if_that_takes_too_long() -> None:
    bench = Bench()
    await bench.know(URL)
    bench.clock.now += timedelta(days=15)

    got = await bench.client.get(f"/v1/preview?url={URL}&wait=1ms")

    assert bench.stores.journal.waiting() == 1
    assert got.status in (200, 202)


async def test_preview_that_takes_too_long_is_pending() -> None:
    bench = Bench()

    got = await bench.client.get(f"/v1/preview?url={URL}&wait=1ms&priority=bulk")

    assert got.json == {"url": URL, "state": "pending"}
    assert bench.stores.journal.waiting() == 1


@pytest.mark.parametrize(
    ("query", "where"),
    [("url=nonsense", "?url"), ("url=ftp://a.example/", "?url"), ("", ""), (f"url={URL}&oembed=perhaps", "?oembed")],
)
async def test_invalid_preview_is_refused(query: str, where: str) -> None:
    got = await Bench().client.get(f"/v1/preview?{query}")

    assert got.status == 422
    assert got.json.get("where", "") == where


async def test_preview_of_a_full_service_is_refused() -> None:
    bench = Bench(config=Config(live=LiveSettings(backlog=1)))
    await bench.client.post("/v1/messages", {"urls": ["http://b.example/"]})

    assert (await bench.client.get(f"/v1/preview?url={URL}")).status == 429
    assert (await Bench(most_waiting=0).client.get(f"/v1/preview?url={URL}")).status == 503


async def test_oembed_is_asked_for_on_request_only() -> None:
    bench = Bench()
    await with_embed(bench)
    answer = {"type": "video", "html": "<iframe>", "width": 640}
    bench.fetching.replies[ENDPOINT] = page(ENDPOINT, json.dumps(answer).encode())

    without = await bench.client.get(f"/v1/preview?url={URL}")
    assert bench.fetching.asked == []
    got = await bench.client.get(f"/v1/preview?url={URL}&oembed=true")

    assert "oembed" not in without.json
    assert got.json == {**without.json, "oembed": answer}
    assert bench.fetching.asked == [ENDPOINT]


@pytest.mark.parametrize("body", [b"<xml>", b"[1]", b"{" * 10_000, b'{"a": "' + b"x" * 70_000 + b'"}'])
async def test_oembed_answer_that_is_not_an_object_is_left_out(body: bytes) -> None:
    bench = Bench()
    await with_embed(bench)
    bench.fetching.replies[ENDPOINT] = page(ENDPOINT, body)

    got = await bench.client.get(f"/v1/preview?url={URL}&oembed=true")

    assert (got.status, "oembed" in got.json) == (200, False)


async def test_oembed_endpoint_that_is_blocked_or_fails_is_left_out() -> None:
    bench = Bench()
    await with_embed(bench)
    bench.fetching.replies[ENDPOINT] = Failed(canonical(ENDPOINT), Reason.REFUSED_ADDRESS, "not public")

    refused = await bench.client.get(f"/v1/preview?url={URL}&oembed=true")
    await bench.stores.rules.put(DomainRule(domain="embed.example", blocked=True))
    blocked = await bench.client.get(f"/v1/preview?url={URL}&oembed=true")

    assert "oembed" not in refused.json
    assert "oembed" not in blocked.json
    assert len(bench.fetching.asked) == 1
