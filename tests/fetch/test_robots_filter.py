"""The robots.txt filter: what it allows, fetches and caches."""

from __future__ import annotations

import asyncio
import gc
import gzip
import tracemalloc
from datetime import timedelta

import brotli  # type: ignore[import-untyped]
import pytest
from msgspec.structs import replace
from tests.fetch.fakes import Clock, Web, answer, exchange, request

from scoter.config import load
from scoter.core.reply import Failed, Fetched, Gone, Reason, Reply, Truncation
from scoter.core.robots import LIMIT
from scoter.core.robots_cache import StoredRobots
from scoter.core.url import Url
from scoter.fetch.robots import RobotsFilter

ROBOTS = "http://example.com/robots.txt"
PAGE = "http://example.com/page"
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2"
PACKED = gzip.compress(RULES, mtime=0)


def robots_filter(*overrides: str, **ports: object) -> RobotsFilter:
    return RobotsFilter(load(overrides=["agent.name=testbot", *overrides]), **ports)  # type: ignore[arg-type]


def failing(reason: Reason) -> object:
    return lambda url: Failed(url, reason, "oops")


async def test_allowed_url_is_fetched_after_robots_txt_and_disallowed_never() -> None:
    web = Web({ROBOTS: RULES, PAGE: b"page"})
    robots = robots_filter()

    allowed = await robots(request(PAGE), web)
    denied = await robots(request("http://example.com/private/x"), web)

    assert isinstance(allowed, Fetched)
    assert isinstance(denied, Gone)
    assert (denied.reason, denied.detail) == (Reason.ROBOTS_DENIED, "line 2: Disallow: /private")
    assert web.asked == [ROBOTS, PAGE]


async def test_partial_rule_at_the_size_limit_is_ignored() -> None:
    start = b"User-agent: *\n"
    long = start + b"#" * (LIMIT - len(start) - 12) + b"\nDisallow: /late/and/long\n" + b"#" * LIMIT
    page = "http://example.com/latest"
    web = Web({ROBOTS: long, page: b"page"})

    assert isinstance(await robots_filter()(request(page), web), Fetched)


async def test_partial_rule_of_a_truncated_robots_txt_is_ignored() -> None:
    rules = b"User-agent: *\nDisallow: /private\nDisallow: /p"
    web = Web(
        {ROBOTS: lambda url: Fetched(replace(exchange(url, 200, rules), truncation=Truncation.LENGTH)), PAGE: b"page"}
    )
    robots = robots_filter()

    assert isinstance(await robots(request(PAGE), web), Fetched)
    assert isinstance(await robots(request("http://example.com/private"), web), Gone)


async def test_part_of_a_robots_txt_is_not_enough() -> None:
    web = Web({ROBOTS: lambda url: Fetched(replace(exchange(url, 206, RULES), truncation=Truncation.UNSPECIFIED))})

    reply = await robots_filter()(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.ROBOTS_UNREACHABLE


async def test_proxy_407_for_robots_txt_does_not_allow_the_site() -> None:
    web = Web({ROBOTS: 407, PAGE: b"page"})
    clock = Clock()
    robots = robots_filter("http.proxy_host=proxy.test", clock=clock)

    reply = await robots(request(PAGE), web)
    web.answers[ROBOTS] = b"User-agent: *\nDisallow: /"
    clock.now += 3_600
    later = await robots(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.ROBOTS_UNREACHABLE
    assert isinstance(later, Gone)
    assert PAGE not in web.asked


async def test_each_origin_has_a_robots_txt_of_its_own() -> None:
    web = Web({})
    robots = robots_filter()

    for text in ("http://a.test/1", "https://a.test/1", "http://a.test:8080/1", "http://b.test/1", "http://a.test/2"):
        await robots(request(text), web)

    asked = [text for text in web.asked if text.endswith("robots.txt")]
    assert asked == [
        f"{origin}/robots.txt" for origin in ("http://a.test", "https://a.test", "http://a.test:8080", "http://b.test")
    ]


async def test_robots_txt_is_fetched_once_for_concurrent_requests() -> None:
    web = Web({ROBOTS: RULES})
    web.gate = asyncio.Event()
    robots = robots_filter()

    tasks = [asyncio.create_task(robots(request(f"http://example.com/{number}"), web)) for number in range(50)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert web.asked == [ROBOTS]
    web.gate.set()
    await asyncio.gather(*tasks)

    assert web.asked.count(ROBOTS) == 1


async def test_cancelled_robots_fetch_is_taken_over() -> None:
    web = Web({ROBOTS: RULES, PAGE: b"x"})
    web.gate = asyncio.Event()
    robots = robots_filter()

    first = asyncio.create_task(robots(request(PAGE), web))
    second = asyncio.create_task(robots(request(PAGE), web))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    web.gate.set()

    assert isinstance(await second, Fetched)
    assert web.asked.count(ROBOTS) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 405, 410, 451, 204])
async def test_a_site_without_rules_allows_everything(status: int) -> None:
    web = Web({ROBOTS: status, PAGE: b"x"})

    assert isinstance(await robots_filter()(request(PAGE), web), Fetched)


async def test_forbidden_robots_txt_follows_the_setting() -> None:
    web = Web({ROBOTS: 403, PAGE: b"x"})

    assert isinstance(await robots_filter()(request(PAGE), web), Fetched)
    closed = await robots_filter("http.robots_403_allow=false")(request(PAGE), web)
    assert isinstance(closed, Gone)
    assert closed.reason is Reason.ROBOTS_DENIED


@pytest.mark.parametrize("reason", [Reason.UNRESOLVED, Reason.TIMEOUT, Reason.RESET, Reason.TLS, Reason.MALFORMED])
async def test_unreachable_robots_txt_fails_the_url(reason: Reason) -> None:
    web = Web({ROBOTS: failing(reason), PAGE: b"x"})  # type: ignore[dict-item]
    robots = robots_filter()

    replies = [await robots(request(PAGE), web) for _ in range(3)]

    assert web.asked == [ROBOTS]
    for reply in replies:
        assert isinstance(reply, Failed)
        assert (reply.reason, reply.transient, reply.blames_host) == (Reason.ROBOTS_UNREACHABLE, True, False)


async def test_stopped_robots_fetch_is_not_cached() -> None:
    web = Web({ROBOTS: failing(Reason.STOPPED), PAGE: b"x"})  # type: ignore[dict-item]
    robots = robots_filter()

    stopped = await robots(request(PAGE), web)
    web.answers[ROBOTS] = RULES
    later = await robots(request(PAGE), web)

    assert isinstance(stopped, Failed)
    assert stopped.reason is Reason.STOPPED
    assert isinstance(later, Fetched)


async def test_refused_address_keeps_its_reason() -> None:
    web = Web({ROBOTS: failing(Reason.REFUSED_ADDRESS)})  # type: ignore[dict-item]

    reply = await robots_filter()(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.REFUSED_ADDRESS


@pytest.mark.parametrize("reason", [Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME])
async def test_robots_txt_redirect_to_a_refused_address_is_unreachable(
    reason: Reason,
) -> None:
    elsewhere = "http://inside.example/robots.txt"
    web = Web({ROBOTS: lambda url: answer(url, 302, Location=elsewhere), elsewhere: failing(reason)})  # type: ignore[dict-item]

    reply = await robots_filter()(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.detail) == (Reason.ROBOTS_UNREACHABLE, f"robots.txt: {reason.value} oops")


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_host_is_on_hold_before_robots_txt_is_retried(status: int) -> None:
    # given a server that recovers at the third look
    looks: list[int] = []

    def recovering(url: Url) -> Reply:
        looks.append(1)
        return answer(url, 200, RULES) if len(looks) == 3 else answer(url, status)

    waits: list[timedelta] = []
    robots = robots_filter(defer=lambda url, delay: waits.append(delay))

    # then
    assert isinstance(await robots(request(PAGE), Web({ROBOTS: recovering, PAGE: b"x"})), Fetched)
    assert waits == [timedelta(minutes=5)] * 2


async def test_robots_txt_retries_are_limited() -> None:
    waits: list[timedelta] = []
    web = Web({ROBOTS: lambda url: answer(url, 503, Retry_After="7"), PAGE: b"x"})

    reply = await robots_filter(defer=lambda url, delay: waits.append(delay))(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.ROBOTS_UNREACHABLE
    assert web.asked == [ROBOTS] * 4
    assert waits == [timedelta(seconds=7)] * 3


async def test_redirects_are_followed_five_times_and_no_more() -> None:
    def hop(number: int) -> object:
        return lambda url: answer(url, 301, Location=f"http://r{number + 1}.test/robots.txt")

    def chain(length: int) -> Web:
        answers = {f"http://r{number}.test/robots.txt": hop(number) for number in range(length)}
        return Web({**answers, f"http://r{length}.test/robots.txt": RULES, "http://r0.test/private": b"x"})  # type: ignore[dict-item]

    five, six = chain(5), chain(6)

    assert isinstance(await robots_filter()(request("http://r0.test/private"), five), Gone)
    assert isinstance(await robots_filter()(request("http://r0.test/private"), six), Fetched)


async def test_crawl_delay_is_reported_unless_too_long() -> None:
    told: list[timedelta | None] = []
    robots = robots_filter(set_crawl_delay=lambda url, delay: told.append(delay))
    await robots(request(PAGE), Web({ROBOTS: RULES}))

    skipping = robots_filter("fetch.long_crawl_delay=skip")
    slow = await skipping(request(PAGE), Web({ROBOTS: b"User-agent: *\nCrawl-delay: 31"}))
    any_length = robots_filter("fetch.long_crawl_delay=skip", "fetch.max_crawl_delay=off")
    patient = await any_length(request(PAGE), Web({ROBOTS: b"User-agent: *\nCrawl-delay: 31", PAGE: b"x"}))

    assert told == [timedelta(seconds=2)]
    assert isinstance(slow, Gone)
    assert slow.reason is Reason.CRAWL_DELAY
    assert isinstance(patient, Fetched)


@pytest.mark.parametrize(
    ("what", "asked", "kept"), [("wait", 31, 31), ("cap", 31, 30), ("wait", 10**7, 43_200), ("cap", 29, 29)]
)
async def test_long_crawl_delay_is_kept_or_capped(what: str, asked: int, kept: int) -> None:
    told: list[timedelta | None] = []
    robots = robots_filter(f"fetch.long_crawl_delay={what}", set_crawl_delay=lambda url, delay: told.append(delay))

    reply = await robots(request(PAGE), Web({ROBOTS: b"User-agent: *\nCrawl-delay: %d" % asked, PAGE: b"x"}))

    assert isinstance(reply, Fetched)
    assert told == [timedelta(seconds=kept)]


async def test_robots_rules_are_cached_for_a_day() -> None:
    clock = Clock()
    web = Web({ROBOTS: RULES})
    robots = robots_filter(clock=clock)

    await robots(request(PAGE), web)
    clock.now += 86_399
    await robots(request(PAGE), web)
    assert web.asked.count(ROBOTS) == 1
    clock.now += 2
    await robots(request(PAGE), web)

    assert web.asked.count(ROBOTS) == 2


class Shared:
    """A cache that several crawlers look into."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredRobots] = {}

    async def get(self, origin: str) -> StoredRobots | None:
        return self.kept.get(origin)

    async def put(self, origin: str, stored: StoredRobots) -> None:
        self.kept[origin] = stored


async def test_robots_txt_is_shared_through_the_cache() -> None:
    shared, clock = Shared(), Clock()
    web = Web({ROBOTS: RULES, "http://free.test/robots.txt": 404})

    for _ in range(2):  # two crawlers
        robots = robots_filter(cache=shared, clock=clock)
        assert isinstance(await robots(request("http://example.com/private"), web), Gone)
        await robots(request("http://free.test/x"), web)

    assert web.asked.count(ROBOTS) == 1
    assert web.asked.count("http://free.test/robots.txt") == 1
    clock.now += 86_401
    await robots_filter(cache=shared, clock=clock)(request("http://example.com/private"), web)
    assert web.asked.count(ROBOTS) == 2


async def test_an_unreachable_robots_txt_is_not_shared() -> None:
    shared = Shared()
    web = Web({ROBOTS: failing(Reason.TIMEOUT)})  # type: ignore[dict-item]

    await robots_filter(cache=shared)(request(PAGE), web)

    assert shared.kept == {}


async def test_robots_rules_match_our_agent_names() -> None:
    web = Web(
        {ROBOTS: b"User-agent: testbot\nDisallow: /t\nUser-agent: other\nDisallow: /o\nUser-agent: *\nDisallow: /"}
    )

    assert isinstance(await robots_filter()(request("http://example.com/t"), web), Gone)
    assert web.asked == [ROBOTS]
    both = robots_filter("http.robots_agents=other", "agent.name=nobody")
    denied = await both(request("http://example.com/o"), web)
    assert isinstance(denied, Gone)
    assert denied.reason is Reason.ROBOTS_DENIED


async def test_allowlisted_hosts_and_other_schemes_skip_robots_txt() -> None:
    web = Web({ROBOTS: b"User-agent: *\nDisallow: /", PAGE: b"x", "file:///tmp/x": b"x"})

    assert isinstance(await robots_filter("http.robot_rules_allowlist=example.com")(request(PAGE), web), Fetched)
    assert isinstance(await robots_filter()(request("file:///tmp/x"), web), Fetched)
    assert web.asked == [PAGE, "file:///tmp/x"]


async def test_robots_txt_itself_is_always_allowed() -> None:
    web = Web({ROBOTS: b"User-agent: *\nDisallow: /"})

    assert isinstance(await robots_filter()(request(ROBOTS), web), Fetched)
    assert web.asked == [ROBOTS]


async def test_a_compressed_robots_txt_is_read() -> None:
    web = Web({ROBOTS: lambda url: answer(url, 200, PACKED, Content_Encoding="gzip")})

    assert isinstance(await robots_filter()(request("http://example.com/private"), web), Gone)


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        (PACKED[: len(PACKED) // 2], False),
        (PACKED[:12], False),
        (PACKED[:-12] + bytes(byte ^ 0xFF for byte in PACKED[-12:-8]) + PACKED[-8:], False),
        (PACKED + b"<!-- served by -->", True),
        (RULES, True),
    ],
    ids=["half", "begun", "damaged", "followed", "mislabelled"],
)
async def test_damaged_compressed_robots_txt_is_unreachable(body: bytes, is_read: bool) -> None:
    private = "http://example.com/private"
    web = Web({ROBOTS: lambda url: answer(url, 200, body, Content_Encoding="gzip"), private: b"page"})

    reply = await robots_filter()(request(private), web)

    assert isinstance(reply, Gone | Failed)
    assert reply.reason is (Reason.ROBOTS_DENIED if is_read else Reason.ROBOTS_UNREACHABLE)


@pytest.mark.parametrize(
    ("coding", "body", "is_read"),
    [
        ("br", b"\xff\xff" + brotli.compress(RULES), False),
        ("compress", b"\x1f\x9d\x90" + bytes(range(64)), False),
        ("utf-8", RULES, True),
        ("br", RULES + b"\n# caf\xe9", True),
    ],
    ids=["not brotli", "unknown", "no coding", "mislabelled"],
)
async def test_undecodable_robots_txt_is_unreachable_unless_it_is_text(coding: str, body: bytes, is_read: bool) -> None:
    private = "http://example.com/private"
    web = Web({ROBOTS: lambda url: answer(url, 200, body, Content_Encoding=coding), private: b"page"})

    reply = await robots_filter()(request(private), web)

    assert isinstance(reply, Gone | Failed)
    assert reply.reason is (Reason.ROBOTS_DENIED if is_read else Reason.ROBOTS_UNREACHABLE)


async def test_truncated_compressed_robots_txt_is_read_up_to_the_limit() -> None:
    rest = gzip.compress(b"".join(b"# %x\n" % (number**5) for number in range(1_000)))
    body = (gzip.compress(RULES + b"\n") + rest)[: -len(rest) // 2]
    fields = (("Content-Encoding", "gzip"),)
    web = Web({ROBOTS: lambda url: Fetched(replace(exchange(url, 200, body, fields), truncation=Truncation.LENGTH))})

    assert isinstance(await robots_filter()(request("http://example.com/private"), web), Gone)


async def test_number_of_cached_robots_files_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.fetch.robots.MAX_ENTRIES", 10)
    robots = robots_filter()
    web = Web({f"http://h{number}.test/robots.txt": RULES for number in range(20)})
    for number in range(20):
        await robots(request(f"http://h{number}.test/"), web)

    assert repr(robots) == "RobotsFilter(10 known, 0 being fetched)"


async def test_cached_robots_files_are_weighed_by_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    # A parsed rule takes far more memory than its text.
    monkeypatch.setattr("scoter.fetch.robots.MAX_BYTES", 1_000_000)
    rules = b"User-agent: *\n" + b"".join(b"Allow:/%x\n" % number for number in range(1_000))
    web = Web({f"http://h{number}.test/robots.txt": rules for number in range(8)})
    robots = robots_filter()

    tracemalloc.start()
    try:
        for number in range(8):
            await robots(request(f"http://h{number}.test/"), web)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 1_600_000
