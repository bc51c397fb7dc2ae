"""robots.txt rules, by RFC 9309.

Protego matches paths. The group for our crawler is chosen here, since the standard compares whole product tokens and
Protego only prefixes. Parsing takes time linear in the first 500 KiB of a file, and so does each verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from html import unescape
from typing import Final, Literal

from msgspec import Struct
from protego import Protego

from scoter.core.url import Url

LIMIT: Final = 500 * 1024  # RFC 9309 2.5: the minimum that must be parsed
MAX_WILDCARDS: Final = 20_000  # each verdict may try each of them; no honest site comes near
LONGEST_DELAY: Final = timedelta(days=36_500)
_MOST_TRIED: Final = 1_000  # rules that ``explain`` tries to find the one that decided

_LINE_END: Final = re.compile("\r\n|\r|\n")
_TOKEN: Final = re.compile("[A-Za-z_-]+")  # RFC 9309 2.2.1
_USUAL: Final = re.compile("/(?!/)[A-Za-z0-9/._~*$?&=-]*")
_PLAIN: Final = re.compile("[A-Za-z0-9/._~-]+")
_PRODUCT_END: Final = re.compile(r"[/\s]")
# Characters in a path that str.splitlines takes for a line end, or a terminal for a command.
_ODD: Final = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]")

# A page around robots.txt, unless it is mentioned in a comment.
_MARKUP: Final = re.compile(r"^[^#\n]*?<(?:!doctype|html|head|body|pre|p|div|br)\b", re.IGNORECASE | re.MULTILINE)
_TAG: Final = re.compile(r"<(/?[a-z!][a-z0-9]*)[^<>]*>", re.IGNORECASE)
_INLINE: Final = frozenset({"a", "b", "code", "em", "font", "i", "small", "span", "strong", "tt", "u"})
_BREAK: Final = "\x00"  # where a tag ends a line

Field = Literal["agent", "allow", "disallow", "delay", "sitemap", "other"]
# With the misspellings that Google's parser or crawler-commons accepts.
_SPELLINGS: Final[dict[Field, str]] = {
    "agent": "user-agent, useragent, user agent, user-agents, users-agent, user-agnet, useg-agent, ser-agent",
    "allow": "allow",
    "disallow": "disallow, dissallow, dissalow, disalow, diasllow, disallaw, "
    "disllow, desallow, dssalow, dsallow, diallow",
    "delay": "crawl-delay, crawl delay, crawldelay, clawl-delay, craw-delay, crawl-deley",
    "sitemap": "sitemap, sitemaps, site-map",
}
_FIELDS: Final[dict[str, Field]] = {name: field for field, names in _SPELLINGS.items() for name in names.split(", ")}
# Longest names first: "user-agents" is not "user-agent" and a rest.
_WITHOUT_COLON: Final = re.compile(f"({'|'.join(sorted(_FIELDS, key=len, reverse=True))})[ \\t]+(.+)", re.IGNORECASE)
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class RobotsRule(Struct, frozen=True):
    """An ``Allow`` or ``Disallow`` line with its line number."""

    allow: bool
    path: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.path}"


class Verdict(Struct, frozen=True):
    """Whether a URL may be fetched, and why."""

    allowed: bool
    why: str


class Robots:
    """The rules that one robots.txt sets for one crawler.

    >>> Robots.read(b"User-agent: *\\nDisallow: /private\\nCrawl-delay: 2", ["scoter"])
    Robots(group='*', rules=1, crawl_delay=2s, sitemaps=0)
    """

    __slots__ = (
        "_matcher",
        "_needles",
        "_ordered",
        "_refusal",
        "_starts",
        "crawl_delay",
        "group",
        "rules",
        "sitemaps",
    )

    def __init__(
        self,
        rules: Sequence[RobotsRule] = (),
        *,
        group: str = "",
        crawl_delay: timedelta | None = None,
        sitemaps: Sequence[str] = (),
        refusal: str = "",
    ) -> None:
        self.rules = tuple(rules)
        self.group = group
        self.crawl_delay = crawl_delay
        self.sitemaps = tuple(sitemaps)
        if not refusal and sum(rule.path.count("*") for rule in self.rules) > MAX_WILDCARDS:
            refusal = f"more than {MAX_WILDCARDS:,} wildcards, more than can be checked for each URL"
        self._refusal = refusal
        self._matcher = None if refusal or not self.rules else _matcher(self.rules)
        self._starts, self._needles = _traces(self.rules) if self._matcher is not None else ((), ())
        self._ordered: list[tuple[RobotsRule, str, str]] | None = (
            None  # with their traces, once an explanation was wanted
        )

    @classmethod
    def read(cls, body: bytes, agents: Sequence[str]) -> Robots:
        """Parse a robots.txt for our names: all groups that name any of them count, else those for ``*``."""
        groups = _RobotsGroups()
        for number, field, value in _fields(body):
            groups.add(number, field, value)
        return groups.choose(agents)

    def allows(self, url: Url) -> bool:
        """Return whether the URL may be fetched."""
        if self._matcher is None:
            return not self._refusal or url.path == "/robots.txt"
        return not self._may_match(url.text) or self._matcher.can_fetch(url.text, "*")

    def _may_match(self, text: str) -> bool:
        """Return whether a URL contains a substring that some Disallow rule needs in order to match."""
        # A canonical URL has a host and a path, so the first slash after this many characters starts the path.
        if not text.startswith("http") or text.startswith(self._starts, text.index("/", len("https://"))):
            return True
        for needle in self._needles:  # noqa: SIM110 - twice as fast without a generator
            if needle in text:
                return True
        return False

    def explain(self, url: Url) -> Verdict:
        """Return whether the URL may be fetched, and which line decides."""
        allowed = self.allows(url)
        if self._refusal:
            return Verdict(allowed, self._refusal)
        if url.path == "/robots.txt":
            return Verdict(allowed, "robots.txt itself may always be fetched")
        if self._ordered is None:
            # RFC 9309 2.2.2: the longest match decides; of two as long, the one that allows.
            ordered = sorted(self.rules, key=lambda rule: (-len(rule.path), not rule.allow))
            self._ordered = [(rule, *_trace(rule)) for rule in ordered]
        text = url.text
        path = text[text.index("/", len("https://")) :] if text.startswith("http") else ""
        tried = 0
        for rule, start, needle in self._ordered:
            if rule.allow is not allowed or (path and not (path.startswith(start) and needle in path)):
                continue
            tried += 1
            if tried > _MOST_TRIED:
                return Verdict(allowed, f"one of {len(self.rules):,} rules")
            if not _matcher([RobotsRule(False, rule.path, 0)]).can_fetch(text, "*"):
                return Verdict(allowed, str(rule))
        return Verdict(allowed, "no rule matches" if self.rules else "no rules for this crawler")

    def __repr__(self) -> str:
        delay = "none" if self.crawl_delay is None else f"{self.crawl_delay.total_seconds():g}s"
        return (
            f"Robots(group={self.group!r}, rules={len(self.rules)}, crawl_delay={delay}, sitemaps={len(self.sitemaps)})"
        )


ALLOW_ALL: Final = Robots()
"""The rules of a missing robots.txt (RFC 9309 2.3.1.3)."""


def disallow_all(reason: str) -> Robots:
    """Return rules that allow nothing, for an unreachable robots.txt (RFC 9309 2.3.1.4)."""
    return Robots(refusal=reason)


def whole_lines(body: bytes) -> bytes:
    """Drop the partial last line of a truncated file: half a rule may mean something else.

    >>> whole_lines(b"Disallow: /a/b\\nDisallow: /")
    b'Disallow: /a/b\\n'
    """
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


class _RobotsGroups:
    """Collects the groups of a file: consecutive user-agent lines, then what they are told.

    A rule belongs to all user-agent lines since the rule before: a Crawl-delay does not separate them (RFC 9309 2.2.4).
    A Crawl-delay belongs only to those directly above it, since the last rule, delay or unknown field. Otherwise the
    2,000 seconds that a site asks of one crawler would be applied to all.
    """

    def __init__(self) -> None:
        self._rules: list[RobotsRule] = []
        self._delays: list[timedelta] = []
        self._rule_seen = True
        self._delay_seen = True
        self._members: list[tuple[str, list[RobotsRule], list[timedelta]]] = []
        self._sitemaps: list[str] = []

    def add(self, number: int, field: Field, value: str) -> None:
        if field == "sitemap":  # belongs to no group and ends none (RFC 9309 2.2.4)
            if value:
                self._sitemaps.append(value)
        elif field == "agent":
            if self._rule_seen:
                self._rules = []
            if self._rule_seen or self._delay_seen:
                self._delays = []
            self._rule_seen = self._delay_seen = False
            self._members.append((value, self._rules, self._delays))
        elif field in ("delay", "other"):
            self._delay_seen = True
            if field == "delay" and (delay := _seconds(value)) is not None:
                self._delays.append(delay)
        else:
            self._rule_seen = True
            if value:  # an empty rule matches nothing
                self._rules.append(RobotsRule(field == "allow", value, number))

    def choose(self, agents: Sequence[str]) -> Robots:
        for ours in (agents, ("*",)):
            named: dict[str, None] = {}  # in our order, since the first is the name we send
            rules: dict[int, list[RobotsRule]] = {}
            delays: dict[int, list[timedelta]] = {}
            for wanted in ours:
                for name, its_rules, its_delays in self._members:
                    if _speaks_to(name, wanted):
                        named[wanted] = None
                        rules[id(its_rules)] = its_rules
                        delays[id(its_delays)] = its_delays
            if named:
                return Robots(
                    [rule for each in rules.values() for rule in each],
                    group=", ".join(named),
                    # The longest delay wins, within a group and among groups.
                    crawl_delay=max((delay for each in delays.values() for delay in each), default=None),
                    sitemaps=self._sitemaps,
                )
        return Robots(sitemaps=self._sitemaps)


def _fields(body: bytes) -> Iterator[tuple[int, Field, str]]:
    """Yield line number, field and value of every known line."""
    cut = body[: LIMIT + 3]
    if len(body) > len(cut):
        cut = whole_lines(cut)
    text = cut.decode("utf-16" if cut.startswith(_UTF_16) else "utf-8-sig", errors="replace")
    has_markup = _MARKUP.search(text) is not None
    if has_markup:
        text = _TAG.sub(_without_tag, text)
    for number, line in enumerate(_LINE_END.split(text), 1):
        for each in map(unescape, line.split(_BREAK)) if has_markup else (line,):
            found = _field(each.partition("#")[0].strip())
            if found is not None:
                field, value = found[0], found[1].strip()
                yield number, field, value if field == "agent" else _ODD.sub(_escape, value)


def _without_tag(tag: re.Match[str]) -> str:
    """Return what takes the place of a tag in a robots.txt that was written as a page; lines keep their numbers."""
    is_inline = tag[1].lower().lstrip("/") in _INLINE
    return ("" if is_inline else _BREAK) + "\n" * tag[0].count("\n")


def _field(line: str) -> tuple[Field, str] | None:
    """Return the field and the value of a line: "other" for an unknown field, ``None`` if there is none.

    A blank may stand for the colon if the value is one word, as in Google's parser. A Disallow may have more words: the
    line is ignored otherwise, and we would fetch more.

    >>> _field("Disallow /private/"), _field("user agent strings of robots")
    (('disallow', '/private/'), None)
    """
    name, colon, value = line.partition(":")
    name = name.rstrip().lower()
    field = _FIELDS.get(name) if colon else None
    if field is None and colon and name.startswith("disallow") and name.isalpha():
        field = "disallow"  # "Disallowed: /a", as in Google's parser
    if field is not None:
        return field, value
    match = _WITHOUT_COLON.fullmatch(line)
    if match is None:
        return ("other", value) if colon and name != "host" else None  # "Host" is for the whole site, like "Sitemap"
    field, value = _FIELDS[match[1].lower()], match[2].strip()
    return (field, value) if field == "disallow" or len(value.split()) == 1 else None


def _speaks_to(line: str, ours: str) -> bool:
    """Return whether a user-agent line contains our product token."""
    if ours == "*":
        # As in Google's parser, "* (all robots)" is the wildcard and "*OrkashBot*" is not. A byte that is not UTF-8 is
        # mostly the no-break space of Latin-1.
        return line[:1] == "*" and not line[1:2].strip().strip("\ufffd")
    named = _PRODUCT_END.split(line, maxsplit=1)[0].lower()
    wanted = _PRODUCT_END.split(ours, maxsplit=1)[0].lower()
    token = _TOKEN.match(named)
    return named == wanted or (token is not None and token[0] == wanted)


def _seconds(value: str) -> timedelta | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    # A delay beyond the range of timedelta is clamped, not ignored.
    if not 0.0 <= seconds < math.inf:
        return None
    return timedelta(seconds=min(seconds, LONGEST_DELAY.total_seconds()))


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _traces(rules: Sequence[RobotsRule]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the prefixes and substrings of which a URL must have at least one to match a Disallow rule.

    Most URLs have none, and checking costs a tenth of a full match. Only characters that are never escaped are used; an
    unusual rule yields an empty prefix, which every URL has.
    """
    starts: list[str] = []
    needles: list[str] = []
    for rule in rules:
        if rule.allow:
            continue
        first, longest = _trace(rule)
        if len(longest) >= len(first):
            needles.append(longest)
        else:
            starts.append(first)
    return tuple(starts), tuple(needles)


def _trace(rule: RobotsRule) -> tuple[str, str]:
    """Return a prefix and a substring, perhaps empty, of every path that the rule matches."""
    first, *others = _PLAIN.findall(rule.path) if _USUAL.fullmatch(rule.path) else [""]
    return first, max(others, key=len, default="")


def _matcher(rules: Sequence[RobotsRule]) -> Protego:
    lines = (f"{'Allow' if rule.allow else 'Disallow'}: {rule.path}" for rule in rules)
    return Protego.parse("User-agent: *\n" + "\n".join(lines))
