"""Lookups over HTTP, by the whole API and by the lookup application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec
import pytest
from tests.live.api.client import Client, Exchanging
from tests.live.api.fakes import Bench, record_of, stored

from scoter.errors import UserError
from scoter.live.api.app import Api
from scoter.live.api.lookup_app import LookupApp
from scoter.live.api.lookups import Lookup
from scoter.live.records import State, UrlRecord

HOST = (("Host", "localhost"),)
Ways = Callable[[Bench], Client]


async def _nobody(scope: MutableMapping[str, Any], receive: object, send: object) -> None:
    raise AssertionError(f"{scope['raw_path']!r} was passed on")


def whole(bench: Bench) -> Client:
    return bench.client


def lean(bench: Bench) -> Client:
    app = LookupApp(bench.services.lookup, bench.access, _nobody)
    return Client(app, bench.document, HOST)


both = pytest.mark.parametrize("way", [whole, lean])


@both
async def test_known_url_returns_its_record(way: Ways) -> None:
    bench = Bench()
    record = await bench.know("http://a.example/x?q=1")

    got = await way(bench).get("/v1/urls?url=http%3A%2F%2Fa.example%2Fx%3Fq%3D1")

    assert got.status == 200
    assert msgspec.json.decode(got.body, type=UrlRecord) == record


@both
async def test_every_spelling_of_a_url_finds_its_record(way: Ways) -> None:
    bench = Bench()
    await bench.know("http://a.example/b")

    got = await way(bench).get("/v1/urls?url=HTTP://A.Example:80/x/../b")

    assert got.status == 200
    assert got.json["url"] == "http://a.example/b"


@both
async def test_pending_url_differs_from_unknown_url(way: Ways) -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})

    pending = await way(bench).get("/v1/urls?url=http://a.example/")
    unknown = await way(bench).get("/v1/urls?url=http://b.example/")

    assert pending.status == 202
    assert pending.json == {"url": "http://a.example/", "state": "pending"}
    assert unknown.status == 404
    assert unknown.json["type"] == "urn:scoter:problem:unknown-url"


@both
@pytest.mark.parametrize("text", ["", "nonsense", "http%3A%2F%2F", "a" * 9000])
async def test_invalid_url_is_refused(way: Ways, text: str) -> None:
    got = await way(Bench()).get(f"/v1/urls?url={text}")

    assert got.status == 422
    assert got.json["where"] == "?url"


@both
async def test_undecodable_query_string_is_malformed(way: Ways) -> None:
    got = await way(Bench()).get("/v1/urls?url=%ff%fe")

    assert got.status == 400


@both
async def test_longest_accepted_url_can_be_looked_up(way: Ways) -> None:
    bench = Bench()
    url = "http://a.example/".ljust(8_192, "x")
    taken = await bench.client.post("/v1/messages", {"text": f"see {url}"})
    assert list(taken.json["messages"][0]["entries"]) == [url]

    got = await way(bench).get(f"/v1/urls?url={url}")

    assert got.status == 202
    assert (await way(bench).get(f"/v1/urls?url={url}x")).status == 422


@both
async def test_batch_lookup_preserves_order(way: Ways) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    await bench.know("http://b.example/", State.GONE)
    await bench.client.post("/v1/messages", {"urls": ["http://c.example/"]})
    urls = [
        "http://c.example/",
        "HTTP://B.example",
        "nonsense",
        "http://a.example/",
        "http://d.example/",
        "http://a.example/",
    ]

    got = await way(bench).post("/v1/urls/lookup", {"urls": urls})

    assert [each["state"] for each in got.json["results"]] == ["pending", "gone", "unusable", "ok", "unknown", "ok"]
    assert got.json["results"][2] == {"url": "nonsense", "state": "unusable"}


@both
async def test_empty_or_too_long_url_in_a_batch_does_not_affect_the_others(way: Ways) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    urls = ["", "http://a.example/#" + "x" * 9_000, "http://a.example/" + "x" * 9_000]

    got = await way(bench).post("/v1/urls/lookup", {"urls": urls})

    assert got.status == 200
    assert [each["state"] for each in got.json["results"]] == ["unusable", "ok", "unusable"]


@both
@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        ({"urls": []}, 422, "/urls"),
        ({"urls": ["http://a.example/"] * 301}, 422, "/urls"),
        ({"urls": ["http://a.example/", 7]}, 422, "/urls/1"),
        ({"urls": "http://a.example/"}, 422, "/urls"),
        ({}, 422, ""),
        ({"urls": ["http://a.example/"], "more": 1}, 422, ""),
        ([], 422, ""),
    ],
)
async def test_invalid_batch_names_the_field(way: Ways, body: object, status: int, where: str) -> None:
    got = await way(Bench()).post("/v1/urls/lookup", body)

    assert got.status == status
    assert got.json.get("where", "") == where


@both
async def test_batch_must_be_json(way: Ways) -> None:
    client = way(Bench())

    plain = await client.ask(
        "POST", "/v1/urls/lookup", b'{"urls": ["http://a.example/"]}', (("Content-Type", "text/plain"),)
    )
    broken = await client.ask(
        "POST", "/v1/urls/lookup", b'{"urls": [', (("Content-Type", "application/json; charset=utf-8"),)
    )

    assert plain.status == 415
    assert broken.status == 400


class _Broken:
    async def value(self, url: str) -> bytes | None:
        raise UserError("the disk does not do its part")

    async def values(self, urls: object) -> dict[str, bytes]:
        raise UserError("the disk does not do its part")


async def test_unreadable_store_returns_503_with_retry_after() -> None:
    lookup = Lookup(_Broken(), lambda url: False)
    bench = Bench(lookup=lookup)
    lean_client = Client(LookupApp(lookup, bench.access, _nobody), bench.document, HOST)

    for client in (bench.client, lean_client):
        assert (await client.get("/v1/urls?url=http://a.example/")).status == 503
        assert (await client.post("/v1/urls/lookup", {"urls": ["http://a.example/"]})).status == 503


async def test_waiting_lookup_returns_as_soon_as_the_url_is_known() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})
    asking = asyncio.create_task(bench.client.get("/v1/urls?url=HTTP://a.example&wait=20s"))
    while not len(bench.waiters):
        await asyncio.sleep(0)

    await bench.work()

    assert (await asking).status == 200
    assert len(bench.waiters) == 0


async def test_wait_that_times_out_leaves_the_url_pending() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})

    pending = await bench.client.get("/v1/urls?url=http://a.example/&wait=10ms")

    assert pending.status == 202


async def test_url_that_was_never_submitted_is_not_waited_for() -> None:
    bench = Bench(most_waiting=0)  # a request that waits would get 503

    got = await bench.client.get("/v1/urls?url=http://b.example/&wait=30s")

    assert got.status == 404


async def test_url_finished_during_a_lookup_is_found() -> None:
    bench = Bench()
    record = stored(record_of("http://a.example/"))

    def finish(url: str) -> bool:
        bench.stores.metadata._rows[url] = record
        return False

    bench.services = msgspec.structs.replace(bench.services, lookup=Lookup(bench.stores.metadata, finish))
    client = Client(Api(bench.services), bench.document, HOST)

    assert (await client.get("/v1/urls?url=http://a.example/&wait=1s")).status == 200


@both
@pytest.mark.parametrize("shown", ["{}", "W/{}", '"x", {}', "*"])
async def test_record_that_has_not_changed_is_not_sent_again(way: Ways, shown: str) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    client = way(bench)

    first = await client.get("/v1/urls?url=http://a.example/")
    known = ("If-None-Match", shown.format(first.headers["etag"]))
    again = await client.get("/v1/urls?url=http://a.example/", known)
    await bench.know("http://a.example/", State.GONE)
    changed = await client.get("/v1/urls?url=http://a.example/", ("If-None-Match", first.headers["etag"]))

    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert changed.json["state"] == "gone"


@both
async def test_absence_of_a_record_is_not_cached(way: Ways) -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})

    for url, status in (("http://a.example/", 202), ("http://b.example/", 404)):
        got = await way(bench).get(f"/v1/urls?url={url}", ("If-None-Match", "*"))
        assert (got.status, got.headers["cache-control"]) == (status, "no-store")


@both
async def test_browsers_must_not_guess_the_content_type(way: Ways) -> None:
    for target in ("/v1/urls?url=http://a.example/", "/v1/urls?url=", "/healthz"):
        assert (await way(Bench()).get(target)).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("wait", ["-5s", "5h", "abc", "5s5s", "1e9", "", "NaN", "5s%0A", "5%0A"])
async def test_invalid_wait_duration_is_refused(wait: str) -> None:
    got = await Bench().client.get(f"/v1/urls?url=http://a.example/&wait={wait}")

    assert got.status == 422
    assert got.json["where"] == "?wait"


@pytest.mark.parametrize("force", [False, True])
async def test_waiting_lookup_is_answered_at_shutdown(force: bool) -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"], "force": force})
    asking = asyncio.create_task(bench.client.get("/v1/urls?url=http://a.example/&wait=20s"))
    while not len(bench.waiters):
        await asyncio.sleep(0)

    bench.waiters.close()

    async with asyncio.timeout(5):
        assert (await asking).status == 202
        assert (await bench.client.get("/v1/urls?url=http://a.example/&wait=20s")).status == 202


async def test_waiting_lookups_are_limited() -> None:
    bench = Bench(most_waiting=0)
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})

    got = await bench.client.get("/v1/urls?url=http://a.example/&wait=5s")

    assert got.status == 503


async def test_client_that_stops_waiting_leaves_no_waiter() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})
    exchange = Exchanging("GET", "/v1/urls?url=http://a.example/&wait=20s", headers=HOST)
    asking = asyncio.create_task(bench.app(exchange.scope, exchange.receive, exchange.send))
    while not len(bench.waiters):
        await asyncio.sleep(0)

    exchange.leave()
    await asking

    assert exchange.status == 0
    assert len(bench.waiters) == 0
    assert bench.waiters._waiting == {}


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/v1/urls?url=http://a.example/&wait=1s"),
        ("GET", "/v1/urls?wait=1s&url=http://a.example/"),
        ("GET", "/v1/urls"),
        ("POST", "/v1/urls"),
        ("GET", "/v1/urls/lookup"),
        ("POST", "/v1/messages"),
        ("GET", "/v1/%75rls?url=http://a.example/"),
        ("GET", "/readyz"),
    ],
)
async def test_lookup_app_forwards_what_it_does_not_handle(method: str, target: str) -> None:
    bench, passed = Bench(), []

    async def pass_on(scope: MutableMapping[str, Any], receive: object, send: object) -> None:
        passed.append(scope["raw_path"])

    app = LookupApp(bench.services.lookup, bench.access, pass_on)
    asking = Exchanging(method, target, headers=HOST)
    await app(asking.scope, asking.receive, asking.send)

    assert passed == [target.partition("?")[0].encode()]


async def test_lookup_app_answers_health_checks() -> None:
    assert (await lean(Bench()).get("/healthz")).json == {"status": "ok"}


async def test_lookup_of_a_canonical_url_does_not_parse_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    record = record_of("http://a.example/")
    await bench.know(record.url)

    def parse(text: str) -> str:
        raise AssertionError("a canonical URL was parsed")

    monkeypatch.setattr("scoter.live.api.lookups.canonical_text", parse)

    assert (await lean(bench).get("/v1/urls?url=http://a.example/")).status == 200
