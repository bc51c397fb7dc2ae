"""LinkRules: which links of a page are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.config import load
from scoter.core.chain import Scope
from scoter.core.page import Outlink, Page
from scoter.core.scoring import OpicRules
from scoter.core.url import Url, canonical, join
from scoter.parse.links import LinkJoiner, LinkRules
from scoter.parse.records import DropReason

HOME = "http://www.a.example/"


class Only:
    """A filter that keeps URLs with a word and records its calls."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[str] = []

    def keeps(self, url: Url) -> bool:
        self.asked.append(url.text)
        return self.word in url.text


class Without:
    """A normaliser that removes one word and rejects URLs with another."""

    def __init__(self, word: str, no_url: str = "nothing") -> None:
        self.word, self.no_url = word, no_url
        self.scopes: set[str] = set()

    def normalize(self, text: str, scope: Scope) -> str | None:
        self.scopes.add(scope)
        return None if self.no_url in text else text.replace(self.word, "")


class Exempt:
    """Exempts links to one host."""

    def exempts(self, source: Url, target: Url) -> bool:
        return target.host == "cdn.b.example"


def rules(
    *settings: str,
    word: str = "",
    normalizer: Without | None = None,
    filtering: Only | None = None,
    exempt: bool = False,
) -> LinkRules:
    return LinkRules(
        load(overrides=settings),
        [("without", normalizer)] if normalizer else [],
        [("only", filtering or Only(word))],
        [("exempt", Exempt())] if exempt else [],
    )


def page(*links: str | tuple[str, str] | tuple[str, str, str], nofollow: bool = False) -> Page:
    outlinks = []
    for link in links:
        href, anchor, rel = (*((link,) if isinstance(link, str) else link), "", "")[:3]
        outlinks.append(Outlink(target=canonical(href), anchor=anchor, rel=rel))
    return Page(url=canonical(HOME), outlinks=tuple(outlinks), nofollow=nofollow)


def test_links_keep_their_order_and_targets_are_unique() -> None:
    kept = rules().keep(
        page(
            ("http://b.example/", ""),
            ("http://c.example/", "C"),
            ("http://b.example/", "B"),
            ("http://c.example/", "D"),
        )
    )

    assert [(link.target.text, link.anchor) for link in kept.links] == [
        ("http://b.example/", "B"),
        ("http://c.example/", "C"),
    ]
    assert [link.count for link in kept.links] == [2, 2]
    assert kept.found == 4
    assert kept.dropped == {DropReason.REPEATED: 2}


def test_repeated_links_count_towards_the_limit() -> None:
    kept = rules("db.max_outlinks_per_page=3").keep(
        page("http://b.example/", "http://b.example/", "http://c.example/", "http://d.example/", "http://b.example/")
    )

    assert [(link.target.host, link.count) for link in kept.links] == [("b.example", 2), ("c.example", 1)]
    assert kept.dropped == {DropReason.REPEATED: 1, DropReason.TOO_MANY: 2}


def test_repeated_links_get_a_share_of_the_score_each() -> None:
    home, item = "http://a.example/home", "http://a.example/item"

    kept = rules().keep(page(home, item, home, home))
    scored = OpicRules().distribute(1.0, "a.example", kept.links, kept.found)

    assert [(link.target.text, link.score) for link in scored] == [(home, 0.75), (item, 0.25)]


def test_nofollow_page_keeps_no_links() -> None:
    kept = rules().keep(page("http://b.example/", "http://c.example/", nofollow=True))

    assert kept.links == ()
    assert kept.dropped == {DropReason.PAGE_NOFOLLOW: 2}


def test_nofollow_link_is_dropped() -> None:
    kept = rules().keep(page(("http://b.example/", "", "ugc nofollow"), ("http://c.example/", "", "nofollowing")))

    assert [link.target.host for link in kept.links] == ["c.example"]
    assert kept.dropped == {DropReason.NOFOLLOW: 1}


def test_links_to_the_page_itself_are_dropped() -> None:
    kept = rules(normalizer=Without("?sid=1")).keep(page(HOME, HOME + "?sid=1", HOME + "?sid=12"))

    assert [link.target.text for link in kept.links] == [HOME + "2"]
    assert kept.dropped == {DropReason.SELF: 2}


def test_long_target_is_dropped() -> None:
    kept = rules("db.max_outlink_length=30").keep(page("http://b.example/" + "x" * 13, "http://b.example/" + "x" * 14))

    assert len(kept.links) == 1
    assert kept.dropped == {DropReason.TOO_LONG: 1}


def test_links_beyond_the_limit_are_counted() -> None:
    links = [f"http://b.example/{'bad' if number % 2 else 'good'}/{number}" for number in range(10)]

    kept = rules("db.max_outlinks_per_page=3", word="good").keep(page(*links))

    assert [link.target.path for link in kept.links] == ["/good/0", "/good/2", "/good/4"]
    assert kept.dropped == {DropReason.FILTERED: 5, DropReason.TOO_MANY: 2}


def test_all_links_are_kept_without_a_limit() -> None:
    links = [f"http://b.example/{number}" for number in range(150)]

    assert len(rules().keep(page(*links)).links) == 100
    assert len(rules("db.max_outlinks_per_page=-1").keep(page(*links)).links) == 150


@pytest.mark.parametrize(
    ("settings", "kept", "dropped"),
    [
        (["db.ignore_external_links=true"], ["www.a.example"], {DropReason.EXTERNAL: 2}),
        (["db.ignore_internal_links=true"], ["shop.a.example", "b.example"], {DropReason.INTERNAL: 1}),
        (
            ["db.ignore_external_links=true", "db.ignore_external_links_mode=domain"],
            ["www.a.example", "shop.a.example"],
            {DropReason.EXTERNAL: 1},
        ),
        (
            ["db.ignore_internal_links=true", "db.ignore_external_links_mode=domain"],
            ["b.example"],
            {DropReason.INTERNAL: 2},
        ),
    ],
)
def test_internal_and_external_links_are_dropped_if_configured(
    settings: list[str], kept: list[str], dropped: dict[DropReason, int]
) -> None:
    found = rules(*settings).keep(page(HOME + "x", "http://shop.a.example/", "http://b.example/"))

    assert [link.target.host for link in found.links] == kept
    assert found.dropped == dropped


def test_exempted_external_link_is_kept() -> None:
    found = rules("db.ignore_external_links=true", exempt=True).keep(page("http://cdn.b.example/", "http://b.example/"))

    assert [link.target.host for link in found.links] == ["cdn.b.example"]


def test_normalised_target_is_kept() -> None:
    normalizer = Without("www.")

    kept = rules(normalizer=normalizer).keep(page(("http://www.b.example/", "B"), "http://www.b.example/nothing"))

    assert [(link.target, link.anchor) for link in kept.links] == [(canonical("http://b.example/"), "B")]
    assert kept.dropped == {DropReason.NO_URL: 1}
    assert normalizer.scopes == {"outlink"}


def test_filters_and_normalisers_can_be_switched_off() -> None:
    found = rules("parse.filter_urls=false", "parse.normalize_urls=false", word="no", normalizer=Without("www."))

    assert [link.target.host for link in found.keep(page("http://www.b.example/")).links] == ["www.b.example"]


def test_target_is_filtered_once() -> None:
    filtering = Only("good")
    judge = rules(filtering=filtering)

    first = judge.keep(page("http://b.example/good", "http://b.example/bad"))
    again = judge.keep(page("http://b.example/good", "http://b.example/bad"))

    assert first == again
    assert filtering.asked == ["http://b.example/good", "http://b.example/bad"]


def test_redirects_follow_the_same_rules() -> None:
    normalizer = Without("www.")
    judge = rules("db.ignore_external_links=true", "db.max_outlink_length=40", word="a.example", normalizer=normalizer)
    home = canonical("http://a.example/")

    assert judge.redirect(home, canonical("http://a.example/x")) == canonical("http://a.example/x")
    assert judge.redirect(home, canonical("http://b.example/")) is DropReason.EXTERNAL
    assert judge.redirect(home, canonical("http://a.example/" + "x" * 40)) is DropReason.TOO_LONG
    assert judge.redirect(home, home) is DropReason.SELF
    assert normalizer.scopes == {"fetcher"}


def test_redirects_may_be_exempt_from_external_rules() -> None:
    judge = rules("db.ignore_external_links=true", "db.ignore_also_redirects=false")

    assert judge.redirect(canonical(HOME), canonical("http://b.example/")) == canonical("http://b.example/")


@given(st.lists(st.sampled_from(["http://b.example/1", "http://b.example/2", HOME, "http://c.example/bad"])))
def test_every_link_is_kept_or_dropped_for_one_reason(links: list[str]) -> None:
    kept = rules(word="b.example").keep(page(*links))

    assert kept.found == len(links) == len(kept.links) + sum(kept.dropped.values())
    assert len({link.target.text for link in kept.links}) == len(kept.links)


_PIECE = st.sampled_from(["", "a", "b.html", "..", ".", "%7e", " ", "\t", "\\", "c d", "é", "http:", "mailto:"])
_HREFS = st.lists(
    st.tuples(_PIECE, st.sampled_from(["", "/", "//", "?", "#", "?q=/x", "#/y"]), _PIECE), max_size=12
).map(lambda parts: ["".join(part) for part in parts])
_ADDRESSES = (
    "http://h.example/",
    "http://h.example/a/",
    "http://h.example/a/b",
    "http://h.example/a/b%20c",
    "http://h.example/a?x=/y",
    "http://h.example:8080/a/b",
    "https://h.example/a/b",
    "file:///a/b",
)
_PAGES = st.lists(st.sampled_from(_ADDRESSES).map(canonical), min_size=1, max_size=4)


@given(_PAGES, _HREFS)
def test_cached_links_lead_where_they_lead_without_a_cache(pages: list[Url], hrefs: list[str]) -> None:
    joiner = LinkJoiner()
    for page in pages:
        known = joiner.known(page)
        for href in hrefs:
            cached = known[0].get(href) or known[1].get(href) or joiner.absolute.get(href)

            assert (cached or joiner.join(page, href, known)) == join(page, href)


def test_all_links_of_ones_own_pages_are_kept() -> None:
    links = [f"http://b.example/{number}" for number in range(150)]

    own, other = (rules(f'fetch.own_hosts=["{host}"]').keep(page(*links)) for host in (page().url.host, "b.example"))

    assert (len(own.links), len(other.links)) == (150, 100)


def test_links_to_parts_of_a_page_share_its_cached_target() -> None:
    joiner, base = LinkJoiner(), canonical("http://h.example/a/b")
    known = joiner.known(base)

    first, second = (joiner.join(base, f"c.html#{part}", known) for part in ("x", "y"))

    assert first == canonical("http://h.example/a/c.html")
    assert second is first is known[1]["c.html"]
