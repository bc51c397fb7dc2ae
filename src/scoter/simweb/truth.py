"""The truth: the facts about each URL, and the status that it must have after a complete crawl.

The table below is written by hand from the rules that users of Apache Nutch rely on and from Scoter's deviations. It
shares no code with the crawler. docs/simweb.md gives the reason for each line.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from scoter.errors import UsageError
from scoter.simweb.facts import AnswerClass, Resource, SimVerdict
from scoter.simweb.web import SimWeb

#: The status of a URL that robots.txt allows, after a complete crawl under ``SETTINGS``.
STATUS: dict[AnswerClass, str] = {
    AnswerClass.PAGE: "fetched",
    AnswerClass.TEXT: "fetched",
    AnswerClass.FEED: "fetched",
    AnswerClass.SITEMAP: "fetched",
    AnswerClass.DOCUMENT: "fetched",
    AnswerClass.IMAGE: "fetched",
    AnswerClass.ROBOTS: "fetched",
    AnswerClass.NOT_FOUND: "gone",
    AnswerClass.REMOVED: "gone",
    AnswerClass.MOVED: "redir_perm",
    AnswerClass.MOVED_FOR_NOW: "redir_temp",
    AnswerClass.REFRESH_NOW: "redir_temp",
    AnswerClass.REFRESH_LATER: "fetched",
    AnswerClass.FORBIDDEN: "gone",
    AnswerClass.BUSY: "gone",
    AnswerClass.RECOVERING: "fetched",
    AnswerClass.SERVER_ERROR: "gone",
    AnswerClass.RESET: "gone",
    AnswerClass.TRUNCATED: "gone",
    AnswerClass.DRIP: "fetched",
    AnswerClass.SILENT: "gone",
    AnswerClass.BAD_CHUNKING: "gone",
    AnswerClass.HEADER_FLOOD: "gone",
    AnswerClass.BOMB: "fetched",
    AnswerClass.OVERLONG: "fetched",
    AnswerClass.MISTYPED: "fetched",
    AnswerClass.EMPTY: "fetched",
    AnswerClass.REFUSED: "gone",
}

#: The settings under which ``STATUS`` holds, as values of ``-D name=value``.
SETTINGS: dict[str, str] = {
    "fetch.redirect_max": "0",
    "fetch.delay": "0",
    "fetch.max_exceptions_per_queue": "-1",
    "http.robots_503_defer_visits_delay": '"1s"',
    "http.robots_503_defer_visits_retries": "1",
    "generate.trap_share": "1",
    "db.max_outlinks_per_page": "-1",
    "db.fetch_retry_max": "3",
    "db.ignore_external_links": "false",
    "db.ignore_internal_links": "false",
    "urlfilter.filters": '["validator"]',
    "urlnormalizer.normalizers": '["basic"]',
    "urlnormalizer.basic_remove_session_ids": "false",
}


class LinkFact(msgspec.Struct, frozen=True):
    """A link: its canonical target, whether it is nofollow, and its tag."""

    url: str
    nofollow: bool
    tag: str


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one URL."""

    url: str
    host: str
    answer: AnswerClass
    http_status: int
    verdict: SimVerdict = SimVerdict.ALLOWED
    #: Whether a complete crawl finds it, through links and redirects from the seeds that may be followed.
    expected: bool
    #: Its status after a complete crawl; None if it is not expected.
    status: str | None = None
    target: str = ""
    noindex: bool = False
    nofollow: bool = False
    duplicate: str = ""
    near: str = ""
    title: str = ""
    language: str = ""
    encoding: str = ""
    content_type: str = ""
    shows: str = ""
    links: tuple[LinkFact, ...] = ()


#: The facts that a resource states under the same name.
_TAKEN_OVER = tuple(name for name in Fact.__struct_fields__ if name not in ("url", "http_status", "status", "links"))


def truth(web: SimWeb, host: str | None = None) -> Iterator[Fact]:
    """Yield the facts about every URL of a web or of one host."""
    for name in web.hosts() if host is None else (host,):
        for resource in web.resources(name):
            yield _fact(resource)
    if host is None:
        yield from (_refused(url) for url in web.refused())


def fact(web: SimWeb, url: str) -> Fact:
    """Return the facts about a URL, whether it belongs to this web or not."""
    if url in set(web.refused()):
        return _refused(url)
    if not url.startswith("http://"):
        raise UsageError(f"{url[:100]!r} is not in this web: all its URLs begin with http://", where="simweb")
    host, _, rest = url[7:].partition("/")
    path = f"/{rest.partition('#')[0]}"
    resource = web.find(host.lower().removesuffix(":80"), path)
    if resource is not None:
        return _fact(resource)
    return Fact(url=url, host=host, answer=AnswerClass.NOT_FOUND, http_status=404, expected=False)


def _fact(resource: Resource) -> Fact:
    return Fact(
        url=resource.url,
        http_status=resource.status,
        status=_status(resource) if resource.expected else None,
        links=tuple([LinkFact(link.url, link.nofollow, link.tag) for link in resource.links]),
        **{name: getattr(resource, name) for name in _TAKEN_OVER},
    )


def _status(resource: Resource) -> str:
    if resource.verdict is not SimVerdict.ALLOWED:
        # Denied: gone immediately. Unreachable: gone when the retries are used up.
        return "gone"
    return STATUS[resource.answer]


def _refused(url: str) -> Fact:
    """Return the facts about a URL with a private address or a file: the guard refuses every attempt."""
    return Fact(
        url=url,
        host=url.partition("://")[2].partition("/")[0],
        answer=AnswerClass.REFUSED,
        http_status=0,
        verdict=SimVerdict.UNREACHABLE,
        expected=True,
        status=STATUS[AnswerClass.REFUSED],
    )
