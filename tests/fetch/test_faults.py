"""One pass over the synthetic web with all its faults: every URL ends as expected, requested as often as allowed.

The tables below are written by hand; docs/faults.md is checked against them.
"""

from __future__ import annotations

import time
from collections import Counter
from urllib.parse import urlsplit

import pytest
import uvloop
from msgspec import Struct
from tests.fetch.hostile import config_for, fetch_all
from tests.fetch.hostile_cases import STATUS

from scoter.core.datum import FetchStatus
from scoter.core.reply import Fetched, Moved, Reply, Truncation, fetch_status
from scoter.fetch.filters import kind_of
from scoter.fetch.protocols.http_transport import ROBOTS_LIMIT
from scoter.simweb import AnswerClass, Fact, SimVerdict, WebSpec, running, truth

WEB = WebSpec(hosts=20, pages=60, faults=True, drip_seconds=0.5, silence_seconds=30)
LIMIT = 64 * 1024
LONGEST = 30.0

#: What comes of a URL that robots.txt allows, by the class of its answer.
WORDS: dict[AnswerClass, str] = {
    AnswerClass.PAGE: "fetched",
    AnswerClass.TEXT: "fetched",
    AnswerClass.FEED: "fetched",
    AnswerClass.SITEMAP: "fetched",
    AnswerClass.DOCUMENT: "fetched",
    AnswerClass.IMAGE: "fetched",
    AnswerClass.NOT_FOUND: "not_found",
    AnswerClass.REMOVED: "removed",
    AnswerClass.MOVED: "moved",
    AnswerClass.MOVED_FOR_NOW: "moved",
    AnswerClass.REFRESH_NOW: "fetched",
    AnswerClass.REFRESH_LATER: "fetched",
    AnswerClass.FORBIDDEN: "forbidden",
    AnswerClass.BUSY: "busy",
    AnswerClass.SERVER_ERROR: "server_error",
    AnswerClass.RESET: "reset",
    AnswerClass.TRUNCATED: "reset",
    AnswerClass.DRIP: "fetched",
    AnswerClass.SILENT: "timeout",
    AnswerClass.BAD_CHUNKING: "malformed",
    AnswerClass.HEADER_FLOOD: "malformed",
    AnswerClass.BOMB: "fetched",
    AnswerClass.OVERLONG: "fetched",
    AnswerClass.MISTYPED: "fetched",
    AnswerClass.EMPTY: "fetched",
}
#: What an answer means whose class says nothing of it: a robots.txt, or a page that recovers later.
BY_HTTP_STATUS: dict[int, str] = {
    200: "fetched",
    301: "moved",
    302: "moved",
    403: "forbidden",
    404: "not_found",
    429: "busy",
    500: "server_error",
    503: "busy",
}
CUT = {AnswerClass.BOMB: Truncation.LENGTH, AnswerClass.OVERLONG: Truncation.LENGTH}


class Pass(Struct):
    """What came of one pass, and what the web saw of it."""

    facts: dict[str, Fact]
    replies: dict[str, Reply]
    asked: Counter[str]
    seconds: float


@pytest.fixture(scope="module")
def done() -> Pass:
    with running(WEB) as server:
        facts = {fact.url: fact for fact in truth(server.web)}
        config = config_for(
            server.port, "http.time_limit=10s", "http.robots_503_defer_visits_delay=60s", "fetch.long_crawl_delay=skip"
        )
        began = time.monotonic()
        replies = uvloop.run(fetch_all(config, facts))
        seconds = time.monotonic() - began
        asked = Counter(f"http://{entry.host}{entry.path}" for entry in server.ledger.requests())
    return Pass(facts, replies, asked, seconds)


def _word(fact: Fact) -> str:
    if fact.answer is AnswerClass.REFUSED:
        return "refused_address" if fact.url.startswith("http") else "refused_scheme"
    if fact.answer is AnswerClass.ROBOTS:
        return "reset" if "robots-unreachable" in fact.host else BY_HTTP_STATUS[fact.http_status]
    if fact.verdict is SimVerdict.UNREACHABLE:
        return "robots_unreachable"
    if fact.verdict is SimVerdict.DENIED:
        return "crawl_delay" if "robots-long-delay" in fact.host else "robots_denied"
    return BY_HTTP_STATUS[fact.http_status] if fact.answer is AnswerClass.RECOVERING else WORDS[fact.answer]


def _status(fact: Fact, word: str) -> FetchStatus:
    if word != "moved":
        return STATUS[word]
    return FetchStatus.REDIR_TEMP if fact.http_status in (302, 303, 307) else FetchStatus.REDIR_PERM


def test_every_simweb_url_ends_as_expected(done: Pass) -> None:
    wrong = {}
    for url, fact in done.facts.items():
        reply, word = done.replies[url], _word(fact)
        if kind_of(reply) != word or fetch_status(reply) is not _status(fact, word):
            wrong[url] = (kind_of(reply), word)

    assert not wrong


def test_hostile_names_end_in_time(done: Pass) -> None:
    assert done.seconds < LONGEST


def test_every_kind_of_answer_was_met(done: Pass) -> None:
    assert {fact.answer for fact in done.facts.values()} == set(AnswerClass)


def test_simweb_redirects_lead_to_their_targets(done: Pass) -> None:
    for url, fact in done.facts.items():
        reply = done.replies[url]
        if isinstance(reply, Moved) and fact.answer is not AnswerClass.ROBOTS:
            assert (reply.target.text if reply.target else "") == fact.target, url


def test_only_long_folders_are_truncated(done: Pass) -> None:
    for url, fact in done.facts.items():
        reply = done.replies[url]
        if isinstance(reply, Fetched):
            too_long = fact.answer in CUT or "robots-huge" in url
            limit = ROBOTS_LIMIT if url.endswith(".test/robots.txt") else LIMIT
            assert (reply.exchange.truncation is Truncation.LENGTH) == (len(reply.exchange.body) == limit), url
            assert reply.exchange.truncation is Truncation.NOT or too_long, url
    assert any(_is_cut(done, fact) for fact in done.facts.values() if fact.answer is AnswerClass.OVERLONG)


def _is_cut(done: Pass, fact: Fact) -> bool:
    reply = done.replies[fact.url]
    return isinstance(reply, Fetched) and reply.exchange.truncation is Truncation.LENGTH


def test_disallowed_urls_are_never_requested_and_others_once(done: Pass) -> None:
    for url, fact in done.facts.items():
        if fact.answer is AnswerClass.ROBOTS:
            continue
        denied = fact.verdict is not SimVerdict.ALLOWED
        # Only what broke before anything came is tried once more.
        broke = fact.answer is AnswerClass.RESET and url.endswith("at-once.html")
        assert done.asked[url] == (0 if denied else 2 if broke else 1), url


def test_robots_txt_is_asked_once_for_each_origin(done: Pass) -> None:
    # given that the robots.txt files are themselves among the URLs, and so are asked once more
    hosts = {urlsplit(url).hostname for url, fact in done.facts.items() if fact.answer is not AnswerClass.REFUSED}
    itself = {urlsplit(url).hostname for url in done.facts if urlsplit(url).path == "/robots.txt"}
    for host in hosts:
        tries = 2 if "robots-unreachable" in str(host) else 1
        expected = tries * (1 + (host in itself))
        assert done.asked[f"http://{host}/robots.txt"] == expected, host


def test_only_simweb_urls_were_requested(done: Pass) -> None:
    known = {urlsplit(url).hostname for url in done.facts}
    assert {urlsplit(url).hostname for url in done.asked} <= known
