"""robots.txt, with cases written after the rules of RFC 9309."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego
from tests.effort import seconds_of

from scoter.core.robots import ALLOW_ALL, LIMIT, LONGEST_DELAY, Robots, disallow_all
from scoter.core.url import canonical


def allowed(text: str | bytes, path: str, *agents: str) -> bool:
    body = text.encode() if isinstance(text, str) else text
    return Robots.read(body, agents or ("scoter",)).allows(canonical(f"http://example.com{path}"))


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Disallow: /", "/any", False),
        ("Disallow:", "/any", True),
        ("Disallow: /a", "/a", False),
        ("Disallow: /a", "/abc/d", False),
        ("Disallow: /a", "/A", True),  # 2.2.2: paths are case-sensitive
        ("Disallow: /a/", "/a", True),
        # the longest match decides, whatever the order
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/c", False),
        ("Disallow: /a/b\nAllow: /a", "/a/b", False),
        # of two equally long matches, Allow wins
        ("Disallow: /a\nAllow: /a", "/a", True),
        # 2.2.3: the special characters
        ("Disallow: /*.gif$", "/x/y.gif", False),
        ("Disallow: /*.gif$", "/x/y.gif?z", True),
        ("Disallow: /*.gif", "/x/y.gif?z", False),
        ("Disallow: /a*c*e", "/a/b/c/d/e/f", False),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: *", "/any", False),
        ("Disallow: /*?", "/a?b", False),
        ("Disallow: /*?", "/a", True),
        # percent-encoded and plain octets are the same
        ("Disallow: /ä", "/%C3%A4", False),
        ("Disallow: /%C3%A4", "/ä", False),
        ("Disallow: /a%3cd.html", "/a%3Cd.html", False),
        ("Disallow: /%7Ejoe/", "/~joe/x", False),
        # robots.txt itself
        ("Disallow: /", "/robots.txt", True),
        ("Dissallow: /a", "/a", False),
        ("Disallow: /a # but not this", "/a", False),
        ("disallow : /a", "/a", False),
    ],
)
def test_rules_of_the_group_decide(rules: str, path: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}", path) is expected


GROUPS = """
User-agent: scoter
Disallow: /scoter

User-agent: other
User-agent: third/2.0
Disallow: /both

User-agent: *
Disallow: /all

User-Agent: SCOTER
Disallow: /again
"""


@pytest.mark.parametrize(
    ("agent", "refused"),
    [
        ("scoter", {"/scoter", "/again"}),  # 2.2.1: groups with the same name are combined, without those of *
        ("Scoter/1.0", {"/scoter", "/again"}),
        ("other", {"/both"}),
        ("third", {"/both"}),
        ("scot", {"/all"}),
        ("scoterbot", {"/all"}),
        ("nobody", {"/all"}),
    ],
)
def test_group_is_chosen_by_the_whole_product_token(agent: str, refused: set[str]) -> None:
    paths = {"/scoter", "/again", "/both", "/all"}

    assert {path for path in paths if not allowed(GROUPS, path, agent)} == refused


def test_product_token_ends_at_the_first_invalid_character() -> None:
    assert not allowed("User-agent: scoter*\nDisallow: /", "/")
    assert not allowed("User-agent: scoter (all versions)\nDisallow: /", "/")
    assert allowed("User-agent: scoter-news\nDisallow: /", "/")


def test_groups_of_all_our_names_count() -> None:
    text = (
        "User-agent: second\nDisallow: /second\nCrawl-delay: 7\n"
        "User-agent: first\nDisallow: /first\nCrawl-delay: 2\n"
        "User-agent: *\nDisallow: /all"
    )
    robots = Robots.read(text.encode(), ["first", "second", "third"])

    assert not allowed(text, "/first", "first", "second")
    assert not allowed(text, "/second", "first", "second")
    assert allowed(text, "/all", "third", "second")
    assert (robots.group, robots.crawl_delay) == ("first, second", timedelta(seconds=7))


def test_unknown_lines_and_rules_before_any_agent_are_ignored() -> None:
    assert allowed("Disallow: /\nFoo: bar\nnonsense\n", "/a")
    assert not allowed("User-agent: *\nFoo: bar\nnonsense\nDisallow: /a", "/a")


def test_sitemap_line_does_not_affect_groups() -> None:
    text = "User-agent: a\nSitemap: http://example.com/s.xml\nUser-agent: scoter\nDisallow: /x\nSitemap: /t.xml\n"
    robots = Robots.read(text.encode(), ["scoter"])

    assert robots.sitemaps == ("http://example.com/s.xml", "/t.xml")
    assert not robots.allows(canonical("http://example.com/x"))
    assert not allowed(text, "/x", "a")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_recognised(end: str) -> None:
    assert not allowed(end.join(["User-agent: *", "Disallow: /a", "Allow: /b"]), "/a")


def test_byte_order_mark_is_ignored() -> None:
    assert not allowed(b"\xef\xbb\xbfUser-agent: *\nDisallow: /a", "/a")


def test_lines_beyond_500_kib_are_ignored_including_a_partial_one() -> None:
    head = b"User-agent: *\nDisallow: /early\n"
    filler = b"# " + b"x" * 997 + b"\n"
    body = head + filler * (LIMIT // len(filler) + 2) + b"Disallow: /late\n"
    half = head + b"#" * (LIMIT - len(head) - 12) + b"\nDisallow: /late/and/long\n" + b"#" * 100

    assert not allowed(body, "/early")
    assert allowed(body, "/late")
    assert allowed(half, "/late/and")
    assert allowed(half, "/l")


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("Crawl-delay: 2", 2.0),
        ("crawl-delay: 0.5", 0.5),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: soon", None),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: nan", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: 99999999999999", LONGEST_DELAY.total_seconds()),
        ("Crawl-delay: 1e99", LONGEST_DELAY.total_seconds()),
        ("Crawl-delay: -1e99", None),
        ("Disallow: /", None),
    ],
)
def test_crawl_delay_is_a_number_of_seconds(line: str, delay: float | None) -> None:
    robots = Robots.read(f"User-agent: *\n{line}".encode(), ["scoter"])

    assert robots.crawl_delay == (None if delay is None else timedelta(seconds=delay))


def test_crawl_delay_is_taken_from_our_group() -> None:
    text = b"User-agent: *\nCrawl-delay: 9\nDisallow: /y\nUser-agent: scoter\nCrawl-delay: 3\nDisallow: /x"

    assert Robots.read(text, ["scoter"]).crawl_delay == timedelta(seconds=3)
    assert Robots.read(text, ["other"]).crawl_delay == timedelta(seconds=9)
    assert Robots.read(text, ["other"]).allows(canonical("http://example.com/x"))


@pytest.mark.parametrize(("agent", "delay"), [("scoter", 3), ("other", 9)])
def test_crawl_delay_belongs_only_to_the_agents_directly_above_it(agent: str, delay: int) -> None:
    text = b"User-agent: *\nCrawl-delay: 9\n\n# and\nUser-agent: scoter\n\nCrawl-delay: 3\nDisallow: /x"

    robots = Robots.read(text, [agent])

    assert robots.crawl_delay == timedelta(seconds=delay)
    assert not robots.allows(canonical("http://example.com/x"))  # but the rule belongs to both


@pytest.mark.parametrize(
    "between", ["", "\n", "Disallow:\n", "Request-rate: 1/10\n", "Crawl-delay: 1\n", "Nonsense: 1\n"]
)
def test_crawl_delay_of_another_crawler_does_not_slow_us(between: str) -> None:
    before = Robots.read(b"User-agent: spbot\nCrawl-delay: 2000\n\nUser-agent: *\nCrawl-delay: 20", ["scoter"])
    after = Robots.read(f"User-agent: *\n{between}User-agent: spbot\nCrawl-delay: 2000".encode(), ["scoter"])

    assert before.crawl_delay == timedelta(seconds=20)
    expected = {"": 2000, "\n": 2000, "Crawl-delay: 1\n": 1}.get(between)
    assert after.crawl_delay == (None if expected is None else timedelta(seconds=expected))


def test_crawl_delay_may_follow_the_rules_of_its_group() -> None:
    text = b"User-agent: a\nUser-agent: scoter\nDisallow: /x\nSitemap: s\nCrawl-delay: 4\nUser-agent: b\nCrawl-delay: 7"

    assert Robots.read(text, ["scoter"]).crawl_delay == timedelta(seconds=4)
    assert Robots.read(text, ["a"]).crawl_delay == timedelta(seconds=4)


DIRECTIVES = st.one_of(
    st.sampled_from(["scoter", "other", "*", "third"]).map("User-agent: {}".format),
    st.sampled_from([0, 1, 2, 3000, 0.5]).map("Crawl-delay: {}".format),
    st.sampled_from(["Disallow: /x", "Allow: /", "Disallow:", "Sitemap: /s", "Host: h", "Noindex: /y", "# no", ""]),
)


@given(st.lists(DIRECTIVES, max_size=12), st.sampled_from(["scoter", "other", "nobody"]))
def test_crawl_delay_is_the_longest_that_protego_reads(lines: list[str], agent: str) -> None:
    """Show Protego one delay at a time, since it takes the last one for an agent and Scoter the longest."""
    delays = [at for at, line in enumerate(lines) if line.startswith("Crawl-delay")]
    read = [
        Protego.parse(
            "\n".join("Crawl-delay: -" if at in delays and at != kept else line for at, line in enumerate(lines))
        ).crawl_delay(agent)
        for kept in delays
    ]

    ours = Robots.read("\n".join(lines).encode(), [agent]).crawl_delay

    assert ours == max((timedelta(seconds=delay) for delay in read if delay is not None), default=None)


@pytest.mark.parametrize("line", ["*OrkashBot*", "*bot", "*/1.0", "**"])
def test_name_that_starts_with_an_asterisk_is_not_the_wildcard(line: str) -> None:
    assert allowed(f"User-agent: {line}\nDisallow: /", "/a")


@pytest.mark.parametrize("line", ["*", "* ", "*\t(all robots)", "* all"])
def test_asterisk_before_white_space_is_the_wildcard(line: str) -> None:
    assert not allowed(f"User-agent: {line}\nDisallow: /", "/a")
    assert not allowed(f"User-agent: {line}\xa0\nDisallow: /".encode("latin-1"), "/a")


@pytest.mark.parametrize(
    "text",
    [
        "User-agent *\nDisallow /private/",
        "user agent *\nDISALLOW\t/private/",
        "User-agent: *\nDisallow /private/ # without a colon",
        "User-agent: *\nDisallow /private/: not for robots\nDisallow: /private/",
        *(
            f"User-agent: *\n{name}: /private/"
            for name in [
                "Disallowed",
                "Disallows",
                "Dissallow",
                "Dissalow",
                "Disalow",
                "Diasllow",
                "Disallaw",
                "Desallow",
                "Disllow",
                "Diallow",
            ]
        ),
        *(
            f"{name}: *\nDisallow: /private/"
            for name in [
                "Useragent",
                "User agent",
                "User-agents",
                "Users-agent",
                "User-agnet",
                "Useg-agent",
                "Ser-agent",
            ]
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rules_are_found_in_any_common_spelling(text: str, encoding: str) -> None:
    assert not allowed(text.encode(encoding), "/private/x")
    assert allowed(text.encode(encoding), "/public")


def test_big_endian_text_is_read() -> None:
    assert not allowed(b"\xfe\xff" + "User-agent: *\nDisallow: /a".encode("utf-16-be"), "/a")


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html><html><body>\n<pre>User-agent: *\nDisallow: /private/\n</pre></body></html>",
        "<pre>User-agent: *\nDisallow: /private/</pre>",
        "User-agent: *<br>\nDisallow: /private/<br />\n",
        "<p>User-agent: *</p><P CLASS=x>Disallow: <b>/private/</b></P>",
        "<div\nid='x'>User-agent:&nbsp;*<div>Disallow: <font color='#f00'>/private&#47;</font>",
    ],
)
def test_rules_are_found_in_a_page_of_html(text: str) -> None:
    assert not allowed(text, "/private/x")
    assert allowed(text, "/public")


def test_rule_in_a_page_keeps_the_number_of_its_line() -> None:
    robots = Robots.read(b"<html>\n<pre\n>\nUser-agent: *\nDisallow: /a", ["scoter"])

    assert robots.explain(canonical("http://example.com/a")).why == "line 5: Disallow: /a"


def test_markup_in_a_comment_or_a_path_does_not_make_a_page() -> None:
    text = "User-agent: * # <br>\n# all but <p>Disallow: /a\nDisallow: /b&amp;<i>"

    assert allowed(text, "/a")
    assert not allowed(text, "/b&amp;%3Ci%3E")


def test_prose_is_not_taken_for_rules() -> None:
    text = "User-agent: *\nuser agent strings are listed below\nallow all of them\nDisallow: /a"

    assert not allowed(text, "/a")


@pytest.mark.parametrize(
    "line", ["Crawl-delay 4", "Crawldelay: 4", "Craw-delay: 4", "Clawl-delay: 4", "crawl-deley: 4"]
)
def test_crawl_delay_may_be_misspelt(line: str) -> None:
    assert Robots.read(f"User-agent: *\n{line}".encode(), ["scoter"]).crawl_delay == timedelta(seconds=4)


def test_longest_of_several_crawl_delays_wins() -> None:
    one = b"User-agent: *\nCrawl-delay: 10\nCrawl-delay: 2"
    two = b"User-agent: scoter\nCrawl-delay: 3\n\nUser-agent: scoter\nCrawl-delay: 1"

    assert Robots.read(one, ["scoter"]).crawl_delay == timedelta(seconds=10)
    assert Robots.read(two, ["scoter"]).crawl_delay == timedelta(seconds=3)


def test_verdict_names_the_deciding_line() -> None:
    robots = Robots.read(b"User-agent: *\n\nDisallow: /a\nAllow: /a/b", ["scoter"])

    assert robots.explain(canonical("http://example.com/a")).why == "line 3: Disallow: /a"
    assert robots.explain(canonical("http://example.com/a/b")).why == "line 4: Allow: /a/b"
    assert robots.explain(canonical("http://example.com/")).why == "no rule matches"
    assert ALLOW_ALL.explain(canonical("http://example.com/")).why == "no rules for this crawler"


def test_unreachable_file_allows_only_itself() -> None:
    robots = disallow_all("robots.txt could not be reached")

    assert robots.explain(canonical("http://example.com/")).why == "robots.txt could not be reached"
    assert not robots.allows(canonical("http://example.com/a"))
    assert robots.allows(canonical("http://example.com/robots.txt"))
    assert ALLOW_ALL.allows(canonical("http://example.com/a"))


HOSTILE = {
    "wildcards": b"User-agent: *\n" + b"".join(b"Disallow: /" + b"*a" * 20 + b"%d*\n" % n for n in range(12_000)),
    "one long pattern": b"User-agent: *\nDisallow: /" + b"*a" * 250_000 + b"$",
    "agents": b"User-agent: a\n" * 40_000 + b"Disallow: /\n" * 5_000,
    "groups": b"".join(b"User-agent: a%d\nDisallow: /\n" % n for n in range(18_000)),
    "rules": b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(30_000)),
    "no line end": b"x" * 5_000_000,
    "colons": b":" * 500_000,
    "nul": b"\x00" * 500_000,
    "tags": b"<br>&amp;User-agent: *<br" * 25_000,
    "tags that do not end": b"<p " + b"<a" * 250_000,
    "not utf-8": b"User-agent: *\nDisallow: /\xff\xfe\n" * 10_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_parsed_and_matched_in_bounded_time(name: str) -> None:
    url = canonical("http://example.com/" + "a" * 2_000)

    # A quadratic reader takes minutes.
    assert seconds_of(lambda: Robots.read(HOSTILE[name], ["scoter"]).allows(url)) < 2


def test_unicode_line_separator_does_not_end_a_line() -> None:
    assert allowed("User-agent: *\nDisallow: /a\u2028Disallow: /b\x0bDisallow: /c", "/b")
    assert not allowed("User-agent: *\nDisallow: /a\x0bb", "/a%0Bb")


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_any_bytes_are_parsed_without_an_error(body: bytes) -> None:
    robots = Robots.read(body, ["scoter"])
    url = canonical("http://example.com/a?b")

    assert robots.explain(url).allowed is robots.allows(url)


LINES = st.lists(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), st.text(alphabet="/ab*$", min_size=1, max_size=6)), max_size=6
)


@given(LINES, st.text(alphabet="/ab", max_size=8))
def test_longest_match_decides(lines: list[tuple[str, str]], path: str) -> None:
    """Compare with the simplest matcher, which tries every way to match a pattern."""
    lines = [(kind, "/" + pattern.replace("$", "")) for kind, pattern in lines]
    lines = [(kind, pattern) for kind, pattern in lines if not pattern.endswith("index.html")]
    text = "User-agent: *\n" + "\n".join(f"{kind}: {pattern}" for kind, pattern in lines)
    matching = [(len(pattern), kind == "Allow") for kind, pattern in lines if _matches(pattern, "/" + path)]
    expected = max(matching)[1] if matching else True

    url = "http://example.com/" + path
    if canonical(url).path == "/" + path:
        assert allowed(text, "/" + path) is expected


def _matches(pattern: str, path: str) -> bool:
    if not pattern:
        return True
    if pattern[0] == "*":
        return any(_matches(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return path[:1] == pattern[0] and _matches(pattern[1:], path[1:])


_PATHS = st.text(alphabet="/abA1.~*$?&=%;-é", max_size=7).map(lambda text: "/" + text)


@given(
    st.lists(st.tuples(st.booleans(), _PATHS | st.text(alphabet="/ab*$%", max_size=5)), max_size=4),
    st.text(alphabet="/abA1.~?&=%;-é", max_size=9),
)
def test_fast_path_agrees_with_full_matching(rules: list[tuple[bool, str]], path: str) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules]
    robots = Robots.read("\n".join(["User-agent: *", *lines]).encode(), ["scoter"])
    url = canonical(f"http://a.example/{path}")

    assert robots.allows(url) is (robots._matcher is None or robots._matcher.can_fetch(url.text, "*"))


def test_denial_among_many_rules_is_explained_quickly() -> None:
    many = b"".join(b"Disallow: /folder%x/*/x\n" % number for number in range(15_000))
    robots = Robots.read(b"User-agent: *\n" + many + b"Disallow: /p\n", ["scoter"])

    found: set[str] = set()

    def explain() -> None:
        found.update(robots.explain(canonical(f"http://example.com/page/{number}")).why for number in range(50))

    assert seconds_of(explain) < 5  # building a matcher for each rule took that for a few of them
    assert found == {"line 15002: Disallow: /p"}


def test_denial_among_thousands_of_similar_rules_is_not_traced_to_a_line() -> None:
    odd = b"".join(b"Disallow: /%%70/%d\n" % number for number in range(5_000))
    robots = Robots.read(b"User-agent: *\n" + odd + b"Disallow: /p\n", ["scoter"])

    verdict = robots.explain(canonical("http://example.com/page"))

    assert (verdict.allowed, verdict.why) == (False, "one of 5,001 rules")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/a*b", "/axxb"),
        ("/*/c$", "/x/c"),
        ("/%7Ejoe/", "/~joe/x"),
        ("/caf\u00e9", "/caf%C3%A9"),
        ("/a?b=", "/a?b=c"),
        ("*.pdf$", "/x.pdf"),
        ("/a%2Fb", "/a%2fb"),
        ("p", "/p"),
    ],
)
def test_denial_names_its_rule_in_any_notation(rule: str, path: str) -> None:
    url = canonical(f"http://example.com{path}")
    robots = Robots.read(f"User-agent: *\nDisallow: /other\nDisallow: {rule}\n".encode(), ["scoter"])

    verdict = robots.explain(url)

    assert verdict.why == ("no rule matches" if robots.allows(url) else f"line 3: Disallow: {rule}")
