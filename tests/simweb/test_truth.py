"""The truth against what is really served, as a crawler of the tests' own sees it."""

from __future__ import annotations

from collections import defaultdict
from hashlib import md5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.simweb.walker import Client, Got, Robots, canonical, read

from scoter.errors import UsageError
from scoter.simweb import STATUS, AnswerClass, Fact, SimServer, SimWeb, WebSpec, fact, truth

_TEMPORARY, _PERMANENT = (302, 303, 307), (301, 308)
_KINDS = {
    "text/html": "page",
    "text/plain": "text",
    "application/pdf": "document",
    "image/png": "image",
    "image/x-icon": "image",
    "application/rss+xml": "feed",
    "application/atom+xml": "feed",
}
_SPOILT = {"reset", "truncated", "bad_chunking", "header_flood", "silent"}


class Walk:
    """A complete crawl by the rules: three tries, no redirect followed at once, robots.txt obeyed."""

    def __init__(self, server: SimServer, client: Client) -> None:
        self.facts = {found.url: found for found in truth(server.web)}
        self._client = client
        self._robots = Robots(client)
        self.status: dict[str, str] = {}
        self.classes: dict[str, str] = {}
        self.verdicts: dict[str, str] = {}
        self.links: dict[str, list[tuple[str, bool]]] = {}
        self.titles: dict[str, str] = {}
        self.bodies: dict[str, bytes] = {}
        waiting = list(server.web.seeds())
        seen = set(waiting)
        while waiting:
            for url in self._visit(waiting.pop()):
                if url not in seen:
                    seen.add(url)
                    waiting.append(url)
        self.seen = seen

    def _visit(self, url: str) -> list[str]:
        if not url.partition("//")[2].partition("/")[0].endswith(".test"):
            self.status[url], self.classes[url], self.verdicts[url] = "gone", "refused", "unreachable"
            return []
        self.verdicts[url] = self._robots.verdict(url)
        if self.verdicts[url] != "allowed":
            self.status[url] = "gone"
            return []
        for _ in range(3):
            got = self._client.ask(url)
            found = self._judge(url, got)
            if found is not None:
                return found
        self.status[url] = "gone"
        return []

    def _judge(self, url: str, got: Got) -> list[str] | None:
        """Where an answer leads; None when it is to be tried again."""
        if got.failure or got.status in (403, 429) or got.status >= 500:
            failed = {0: "spoilt", 403: "forbidden", 429: "busy", 500: "server_error", 503: "busy"}
            self.classes[url] = failed[got.status]
            return None
        if got.status in (404, 410):
            self.status[url] = "gone"
            self.classes[url] = "not_found" if got.status == 404 else "removed"
            return []
        if got.status in (*_TEMPORARY, *_PERMANENT):
            lasting = got.status in _PERMANENT
            self.status[url] = "redir_perm" if lasting else "redir_temp"
            self.classes[url] = "moved" if lasting else "moved_for_now"
            target = self.facts[url].target
            if ".test/" in target:
                assert canonical(url, got.headers["location"]) == target
            return [target] if target else []
        assert got.status == 200
        self.status[url] = "fetched"
        recovered = url in self.classes
        self.classes[url] = "recovering" if recovered else _KINDS.get(got.kind, "?")
        self.bodies[url] = got.body
        if got.kind != "text/html" or self.facts[url].answer in ("mistyped", "bomb"):
            return []
        page = read(url, got, self.facts[url].encoding)
        self.titles[url], self.links[url] = page.title, page.links
        if page.refresh:
            wait, target = page.refresh
            self.classes[url] = "refresh_now" if wait < 5 else "refresh_later"
            self.status[url] = "redir_temp" if wait < 5 else "fetched"
            assert target == self.facts[url].target
            return [target]
        if "nofollow" in page.robots:
            return []
        return [target for target, nofollow in page.links if not nofollow]


@pytest.fixture(scope="module")
def walk(plain: SimServer) -> Walk:
    client = Client(plain.port)
    walked = Walk(plain, client)
    client.close()
    return walked


def _expected(walk: Walk) -> dict[str, Fact]:
    return {url: found for url, found in walk.facts.items() if found.expected}


def test_a_crawl_finds_exactly_the_urls_that_are_expected(walk: Walk) -> None:
    assert walk.seen == set(_expected(walk))
    assert len(walk.seen) > 500


def test_every_status_after_a_crawl_is_the_one_the_truth_tells(walk: Walk) -> None:
    assert walk.status == {url: found.status for url, found in _expected(walk).items()}


def test_every_verdict_is_what_the_served_robots_files_say(walk: Walk) -> None:
    assert walk.verdicts == {url: str(found.verdict) for url, found in _expected(walk).items()}
    assert {"allowed", "denied"} <= set(walk.verdicts.values())


def test_every_answer_class_is_what_was_seen_on_the_wire(walk: Walk) -> None:
    told = {url: str(found.answer) for url, found in _expected(walk).items() if url in walk.classes}
    assert walk.classes == told


def test_links_and_their_nofollow_flags_are_those_of_the_served_pages(walk: Walk) -> None:
    for url, links in walk.links.items():
        told = [(link.url, link.nofollow) for link in walk.facts[url].links if link.tag != "link"]
        assert sorted(links) == sorted(told), url


def test_titles_are_those_of_the_served_pages(walk: Walk) -> None:
    assert walk.titles == {url: walk.facts[url].title for url in walk.titles}


def test_duplicate_groups_are_exactly_the_equal_bodies(walk: Walk) -> None:
    by_body: dict[str, set[str]] = defaultdict(set)
    by_group: dict[str, set[str]] = defaultdict(set)
    for url, body in walk.bodies.items():
        by_body[md5(body).hexdigest()].add(url)
        if walk.facts[url].duplicate:
            by_group[walk.facts[url].duplicate].add(url)

    equal = {frozenset(urls) for urls in by_body.values() if len(urls) > 1}

    assert equal == {frozenset(urls) for urls in by_group.values()}
    assert len(equal) >= 4


def _likeness(first: str, second: str) -> float:
    """The share of three-word phrases that two pages have in common (Jaccard)."""
    phrases = [set(zip(text, text[1:], text[2:], strict=False)) for text in (first.split(), second.split())]
    return len(phrases[0] & phrases[1]) / len(phrases[0] | phrases[1])


def test_near_duplicates_are_much_alike_and_other_pages_are_not(walk: Walk) -> None:
    near = [walk.bodies[url].decode() for url, found in walk.facts.items() if found.near == "tale"]
    others = [
        walk.bodies[url].decode()
        for url, found in walk.facts.items()
        if url in walk.links and found.encoding == "utf-8" and not found.duplicate and not found.near
    ]

    assert len(near) == 3
    assert 0.95 < min(_likeness(near[0], other) for other in near[1:]) < 1
    assert len(others) > 200
    assert max(_likeness(others[0], other) for other in others[1:]) < 0.5


def test_crawl_of_faulty_web_matches_the_truth(faulty: SimServer, faulty_client: Client) -> None:
    walk = Walk(faulty, faulty_client)

    told = _expected(walk)
    assert walk.seen == set(told)
    assert walk.status == {url: found.status for url, found in told.items()}
    assert walk.verdicts == {url: str(found.verdict) for url, found in told.items()}
    spoilt = {url for url, seen in walk.classes.items() if seen == "spoilt"}
    assert spoilt == {url for url, found in told.items() if found.answer in _SPOILT and found.verdict == "allowed"}
    for url, seen in walk.classes.items():
        if seen in ("forbidden", "busy", "recovering", "server_error", "refused"):
            assert seen == told[url].answer, url


@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 2**40),
    hosts=st.integers(1, 30),
    more=st.integers(0, 250),
    faults=st.booleans(),
    trap=st.sampled_from([0, 1, 14, 40]),
    links=st.integers(0, 12),
)
def test_expected_urls_are_the_reachable_ones_in_any_web(
    seed: int, hosts: int, more: int, faults: bool, trap: int, links: int
) -> None:
    # Given a web of any shape
    spec = WebSpec(
        seed=seed, hosts=hosts, pages=hosts + more, faults=faults, trap_size=trap, sessions=trap, links=links
    )
    web = SimWeb(spec)
    facts: dict[str, Fact] = {}
    for found in truth(web):
        assert found.url not in facts
        facts[found.url] = found

    # When its links and redirects are followed from the seeds
    seen = set(web.seeds())
    waiting = list(seen)
    while waiting:
        found = facts[waiting.pop()]
        if found.verdict != "allowed" or STATUS[found.answer] == "gone":
            continue
        targets = [found.target] if found.target else []
        if not found.nofollow:
            targets += [link.url for link in found.links if not link.nofollow]
        for url in set(targets) - seen:
            if url.endswith((".xml.gz", "/sitemap-a.xml")):
                continue
            seen.add(url)
            waiting.append(url)

    # Then exactly what is expected has been seen, and each URL is found by itself too
    assert seen == {url for url, found in facts.items() if found.expected}
    for url, found in facts.items():
        assert fact(web, url) == found


def test_every_answer_class_has_a_status() -> None:
    assert set(STATUS) == set(AnswerClass)
    assert set(STATUS.values()) == {"fetched", "gone", "redir_temp", "redir_perm"}


def test_unknown_url_is_not_found() -> None:
    web = SimWeb(WebSpec(hosts=1, pages=1))
    found = fact(web, "http://nobody.test/x")
    assert (found.answer, found.expected, found.status) == ("not_found", False, None)


def test_a_url_that_cannot_be_of_this_web_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="begin with http://"):
        fact(SimWeb(WebSpec(hosts=1, pages=1)), "gopher://x/")
