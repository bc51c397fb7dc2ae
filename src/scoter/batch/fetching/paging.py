"""From a body to what is written of a page: its record, its text, and the links that are kept, with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from scoter.config import Config
from scoter.core.datum import CrawlDatum
from scoter.core.page import Content, Outlink, Page
from scoter.core.reply import Cut, Headers
from scoter.core.scoring import ScoringChain
from scoter.core.signature import simhash
from scoter.core.url import Url
from scoter.fetch.decode import content_codings, decode
from scoter.parse.links import LinkRules
from scoter.parse.mediatype import received
from scoter.parse.parsing import ParseFailed, Parsing
from scoter.plugins import chain

Row = tuple[Any, ...]
# Nothing is wrong with such a page: we have no parser for it, or not all of it.
_NOT_TRIED = frozenset({"no_parser", "truncated"})
PARSED, REDIRECT, FAILED, SKIPPED = "success", "redirect", "failed", "skipped"


class PageRows(Struct, frozen=True):
    """What is written of one page."""

    data: Row
    text: Row | None
    links: Sequence[Outlink]


class Paging:
    """Turns bodies into rows, by the configuration's parsers, link rules, scoring and signature."""

    def __init__(self, config: Config) -> None:
        self.parsing = Parsing(config)
        self.link_rules = LinkRules(config)
        self._scoring = ScoringChain(chain("scoring", config))
        ((_, self._signature),) = chain("signature", config)
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._store_text = config.parse.store_text
        self._marks_failures = config.parse.delete_failed_parse
        self._simhash = config.parse.simhash

    def close(self) -> None:
        """End the process that parses what is suspicious, if there is one."""
        self.parsing.close()

    def content(self, url: Url, datum: CrawlDatum, headers: Headers, body: bytes, cut: Cut) -> Content:
        """Return a body free of its codings, with its type."""
        codings = content_codings(headers)
        decoded = decode(body, codings, self._limit) if codings else None
        plain = body if decoded is None else decoded.body
        truncated = bool(cut or (decoded is not None and decoded.cut))
        found = received(url, headers, plain, truncated=truncated, sniff=self._sniffs)
        return self._scoring.before_parsing(url, datum, found)

    def sign(self, content: Content, text: str) -> bytes:
        """Return the signature of a page."""
        signed: bytes = self._signature.sign(content.url, content.body, text)
        return signed

    async def rows(self, datum: CrawlDatum, content: Content) -> list[PageRows]:
        """Parse a content; return what is to be written, of it and of the documents in it."""
        outcome = await self.parsing.parse_async(content)
        if isinstance(outcome, ParseFailed):
            return [self._unparsed(content, outcome)]
        return [self._page(datum, content, page) for page in outcome.pages]

    def _unparsed(self, content: Content, failure: ParseFailed) -> PageRows:
        failed = self._marks_failures and failure.reason not in _NOT_TRIED
        reason = f"{failure.reason}: {failure.detail}" if failure.detail else failure.reason
        signature = self.sign(content, "")
        return PageRows(self._data(content, FAILED if failed else SKIPPED, signature, reason=reason), None, ())

    def _page(self, datum: CrawlDatum, content: Content, page: Page) -> PageRows:
        url = page.url
        page = self._scoring.after_parsing(url, content, page)
        kept = self.link_rules.keep(page)
        links = self._scoring.distribute(url, datum, kept.links, kept.found)
        status = PARSED
        if page.refresh is not None and page.refresh.is_redirect:
            status, links = REDIRECT, self._refreshed(url, page.refresh.target, datum)
        text = (url.text, url.key, page.text, None) if self._store_text else None
        data = self._data(content, status, self.sign(content, page.text), page=page, links=len(links))
        return PageRows(data, text, links)

    def _refreshed(self, url: Url, target: Url, datum: CrawlDatum) -> Sequence[Outlink]:
        """A page that sends its reader on at once is a redirect: its target is linked as one, and its links are not."""
        verdict = self.link_rules.redirect(url, target)
        return (Outlink(target=verdict, rel="refresh", extra=datum.extra),) if isinstance(verdict, Url) else ()

    def _data(
        self,
        content: Content,
        status: str,
        signature: bytes,
        *,
        page: Page | None = None,
        links: int = 0,
        reason: str = "",
    ) -> Row:
        url = content.url if page is None else page.url
        page = page or Page(url=url)
        return (
            url.text,
            url.key,
            status,
            reason or None,
            page.title or None,
            page.metadata.get("language"),
            content.media_type,
            page.encoding or None,
            page.canonical.text if page.canonical is not None else None,
            page.noindex,
            page.nofollow,
            links,
            signature,
            signed64(simhash(page.text)) if self._simhash and page.text else None,
            list(page.metadata.items()) or None,
        )


def signed64(hashed: bytes) -> int:
    """Return eight bytes as the signed number that a column holds.

    >>> signed64(b"\\xff" * 8)
    -1
    """
    return int.from_bytes(hashed, signed=True)
