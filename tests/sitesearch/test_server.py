"""The public search server: what it answers, to whom, and how often."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.index.indexes import document
from tests.live.api.client import Client, Exchanging
from tests.sitesearch.servers import client_of, make_index

from scoter.errors import UsageError
from scoter.index.search import Searcher
from scoter.sitesearch.gate import PublicGate, PublicRules, check_origins, check_proxies
from scoter.sitesearch.open_index import OpenIndex
from scoter.sitesearch.server import SITE_SEARCH_ROUTES

DOCS = "https://docs.test"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_index(tmp_path_factory.mktemp("crawl"))


async def test_results_are_plain_text_with_marked_parts(index: Path) -> None:
    got = await client_of(index).get("/v1/search?q=sleep+seals")

    assert got.status == 200
    assert got.json["total"] == 1
    (hit,) = got.json["hits"]
    assert (hit["url"], hit["title"]) == ("http://docs.test/seals.html", "Grey seals")
    assert "".join(hit["excerpt"]).startswith("Grey seals rest on the sand banks & sleep <deeply> there")
    assert hit["excerpt"][1::2] == ["seals", "sleep"]


async def test_addresses_are_those_that_readers_see(index: Path) -> None:
    client = client_of(index, addresses=(("http://docs.test/", "https://example.org/docs/"),))

    got = await client.get("/v1/search?q=gulls")

    assert got.json["hits"][0]["url"] == "https://example.org/docs/gulls.html"


async def test_result_leads_to_the_section_that_answers(index: Path) -> None:
    got = await client_of(index).get("/v1/search?q=guide+moulting")

    (hit,) = got.json["hits"]
    assert (hit["url"], hit["path"]) == ("http://docs.test/guide.html#coat", ["Care", "The coat"])


async def test_parts_of_a_query_that_mean_nothing_are_named(index: Path) -> None:
    got = await client_of(index).get("/v1/search?q=titel:seals")

    assert "titel:" in "".join(got.json["notices"])


async def test_misspelled_query_is_corrected(index: Path) -> None:
    got = await client_of(index).get("/v1/search?q=waltrus")

    assert (got.json["corrected"], got.json["suggestion"]) == (True, "walrus")


@pytest.mark.parametrize(
    ("query", "urls"),
    [("gul", ["gulls"]), ("gul+", []), ("larger+wal", ["walrus"]), ("larger+gul", []), ("w", [])],
)
async def test_last_word_may_still_be_typed(index: Path, query: str, urls: list[str]) -> None:
    got = await client_of(index).get(f"/v1/search?q={query}")

    hits = [] if got.json.get("corrected") or got.json.get("partial") else got.json.get("hits", [])
    assert [hit["url"] for hit in hits] == [f"http://docs.test/{each}.html" for each in urls]


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/v1/search", 422),
        ("GET", "/v1/search?q=", 422),
        ("GET", f"/v1/search?q={'a' * 201}", 422),
        ("GET", "/v1/search?q=seals&limit=21", 422),
        ("GET", "/v1/search?q=seals&limit=0", 422),
        ("GET", "/v1/search?q=seals&explain=1", 422),
        ("GET", "/v1/search?q=seals&q=gulls", 422),
        ("GET", "/v1/search?q=sort:size", 422),
        ("GET", "/v1/search?q=-%22seals%22", 422),
        ("GET", "/v1/search?q=seals+after:soon", 422),
        ("GET", "/v1/search?q=%ff", 400),
        ("POST", "/v1/search?q=seals", 405),
        ("DELETE", "/", 405),
        ("GET", "/v1/crawls", 404),
        ("GET", "/search-box.js/../../server.py", 404),
        ("GET", "/metrics", 404),
        ("GET", "/healthz", 200),
    ],
)
async def test_status_of_requests(index: Path, method: str, target: str, status: int) -> None:
    got = await client_of(index).ask(method, target)

    assert got.status == status
    if status == 405:
        assert got.headers["allow"] == "GET, HEAD"


def test_nothing_but_search_and_status_is_served() -> None:
    assert [each.path for each in SITE_SEARCH_ROUTES] == ["/v1/search", "/healthz", "/v1/openapi.json"]
    assert {each.method for each in SITE_SEARCH_ROUTES} == {"GET"}


async def test_answers_may_be_cached_and_are_revalidated_by_their_content(index: Path) -> None:
    client = client_of(index)

    got = await client.get("/v1/search?q=seals")
    again = await client.get("/v1/search?q=seals", ("If-None-Match", got.headers["etag"]))
    other = await client.get("/v1/search?q=gulls", ("If-None-Match", got.headers["etag"]))

    assert got.headers["cache-control"] == "public, max-age=60"
    assert (again.status, again.body) == (304, b"")
    assert other.status == 200
    assert "set-cookie" not in got.headers


@pytest.mark.parametrize(
    ("origins", "origin", "allowed"),
    [
        ((DOCS,), DOCS, DOCS),
        (("*",), "https://any.test", "*"),
        ((DOCS,), "https://evil.test", None),
        ((), DOCS, None),
        ((DOCS,), "null", None),
        ((), "http://search.test", "http://search.test"),  # its own page
    ],
)
async def test_only_pages_of_chosen_origins_may_search(
    index: Path, origins: tuple[str, ...], origin: str, allowed: str | None
) -> None:
    got = await client_of(index, origins=origins).get("/v1/search?q=seals", ("Origin", origin))

    assert got.status == (200 if allowed else 403)
    assert got.headers.get("access-control-allow-origin") == allowed
    assert "access-control-allow-credentials" not in got.headers


async def test_shared_caches_keep_answers_apart_by_origin(index: Path) -> None:
    one, every = client_of(index, origins=(DOCS,)), client_of(index, origins=("*",))

    assert (await one.get("/v1/search?q=seals")).headers["vary"] == "Origin"
    assert (await one.get("/v1/search?q=seals", ("Origin", DOCS))).headers["vary"] == "Origin"
    plain = await every.get("/v1/search?q=seals")
    assert (plain.headers["access-control-allow-origin"], "vary" in plain.headers) == ("*", False)


async def test_preflight_of_a_chosen_origin_is_approved(index: Path) -> None:
    client = client_of(index, origins=(DOCS,))
    asked = ("Access-Control-Request-Method", "GET")
    exchange = [
        Exchanging("OPTIONS", "/v1/search", headers=(asked, ("Origin", each))) for each in (DOCS, "https://x.test")
    ]

    for each in exchange:
        await client.app(each.scope, each.receive, each.send)

    assert [each.got().status for each in exchange] == [204, 403]
    assert exchange[0].got().headers["access-control-allow-methods"] == "GET, HEAD"


async def test_each_address_may_search_at_its_rate(index: Path) -> None:
    now = [0.0]
    client = client_of(index, rate=1.0, origins=("*",), clock=lambda: now[0])

    first = [(await client.get("/v1/search?q=seals")).status for _ in range(6)]
    refused = await client.get("/v1/search?q=seals")
    now[0] += 1.0
    later = await client.get("/v1/search?q=seals")

    assert first == [200] * 5 + [429]
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.headers["access-control-allow-origin"] == "*"  # so that the box can read when to try again
    assert later.status == 200


async def _from(client: Client, peer: str, forwarded: str) -> int:
    exchange = Exchanging("GET", "/v1/search?q=seals", headers=(("X-Forwarded-For", forwarded),))
    exchange.scope["client"] = (peer, 1)
    await client.app(exchange.scope, exchange.receive, exchange.send)
    return exchange.got().status


async def test_address_of_a_client_is_believed_only_from_trusted_proxies(index: Path) -> None:
    client = client_of(index, rate=0.2, proxies=("10.0.0.0/8",), clock=lambda: 0.0)

    through_proxy = [await _from(client, "10.0.0.1", f"198.51.100.{number}") for number in range(3)]
    same_client = await _from(client, "10.0.0.1", "203.0.113.9, 198.51.100.1")  # its first part is forged
    direct = [await _from(client, "192.0.2.1", f"198.51.100.{number}") for number in range(10, 12)]

    assert through_proxy == [200, 200, 200]
    assert same_client == 429
    assert direct == [200, 429]


async def test_without_a_proxy_a_local_server_answers_to_local_names_only(index: Path) -> None:
    client = client_of(index, only_local=True)

    assert (await client.get("/v1/search?q=seals")).status == 421
    local = Client(client.app, headers=(("Host", "127.0.0.1:8020"),))
    assert (await local.get("/v1/search?q=seals")).status == 200


async def test_renewed_index_is_used_without_a_restart(tmp_path: Path) -> None:
    now = [0.0]
    opened = OpenIndex(make_index(tmp_path), clock=lambda: now[0])
    client = client_of(opened)
    before = await client.get("/v1/search?q=otters")

    make_index(tmp_path, [document("http://docs.test/otters.html", "Otters", "Otters dive.")], number=2)
    now[0] += 1.0
    await client.get("/v1/search?q=gulls")
    after = await client.get("/v1/search?q=otters")

    assert (before.json["total"], after.json["total"], opened.pages) == (0, 1, 5)


async def test_damaged_or_removed_index_leaves_the_last_one_in_use(tmp_path: Path) -> None:
    now = [0.0]
    opened = OpenIndex(make_index(tmp_path), clock=lambda: now[0])
    client = client_of(opened)
    state = tmp_path / "index" / "scoter.json"

    state.write_text("{")
    now[0] += 2.0
    damaged = await client.get("/v1/search?q=gulls")
    state.unlink()
    now[0] += 2.0
    removed = await client.get("/v1/search?q=walrus")

    assert (damaged.json["total"], removed.json["total"]) == (1, 1)


def test_missing_index_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no index yet"):
        OpenIndex(tmp_path / "index")


async def test_searches_beyond_the_limits_are_refused_not_queued_forever(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(self: Searcher, query: str, **options: Any) -> Any:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        raise UsageError("too late")

    monkeypatch.setattr(Searcher, "search", slow)
    client = client_of(index)
    asked = [asyncio.create_task(client.get(f"/v1/search?q=w{number}")) for number in range(13)]
    await asyncio.sleep(0)
    refused = await client.get("/v1/search?q=one+more")
    release.set()

    assert (refused.status, json.loads(refused.body)["type"]) == (429, "urn:scoter:problem:share")
    assert {got.status for got in await asyncio.gather(*asked)} == {422}


async def test_page_of_the_server_has_a_strict_policy_and_the_script_may_be_used_everywhere(index: Path) -> None:
    client = Client(client_of(index).app)

    page, script = await client.get("/"), await client.get("/search-box.js", ("Origin", "https://any.test"))
    again = await client.get("/search-box.js", ("If-None-Match", script.headers["etag"]))

    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"
    assert again.status == 304


@pytest.mark.parametrize("wrong", ["docs.test", "https://docs.test/", "https://a.test,https://b.test", "null"])
def test_origin_must_be_an_origin(wrong: str) -> None:
    with pytest.raises(UsageError, match="is not an origin"):
        check_origins([wrong])


def test_proxy_must_be_an_address_or_network() -> None:
    assert check_proxies(["127.0.0.1", "::1", "10.0.0.0/8"]) == ["127.0.0.1", "::1", "10.0.0.0/8"]
    with pytest.raises(UsageError, match="is not an address"):
        check_proxies(["proxy.test"])


def test_gate_forgets_addresses_it_has_not_seen_for_long() -> None:
    gate = PublicGate(lambda *_: None, PublicRules())  # type: ignore[arg-type]

    for number in range(10_050):
        gate._take(f"address {number}")

    assert len(gate._buckets) == 10_000
