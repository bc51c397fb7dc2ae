"""From a body to the rows of a page: its metadata, its text, and its links with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec.json import Encoder
from msgspec.structs import replace

from scoter.batch.fetchlists.lists import to_micros
from scoter.batch.worker.records import PageRows, Row
from scoter.config import Config
from scoter.core.datum import CrawlDatum
from scoter.core.metadata import PageMetadata
from scoter.core.page import ADJUSTMENT, Content, Outlink, Page
from scoter.core.reply import Headers, Truncation
from scoter.core.scoring import ScoringChain
from scoter.core.signature import signed_text, simhash
from scoter.core.traps import links_hash, words_hash
from scoter.core.url import Url
from scoter.fetch.decode import DecodedBody, content_codings, decode
from scoter.parse.content_parser import ContentParser, ParseFailed, ParseOutcome
from scoter.parse.links import LinkRules
from scoter.parse.mediatype import make_content
from scoter.parse.parser_process import ParserProcess
from scoter.plugins import chain

# Not a parse error: there is no parser, or the body is truncated.
_NOT_TRIED = ("truncated", "no_parser")
PARSED, REDIRECT, FAILED, SKIPPED = "success", "redirect", "failed", "skipped"
ENTRY = "entry"
"""The status of a document inside another one. It sorts before all others: if a URL has several rows, an update takes
the last, which is that of the fetched page."""

_NOTHING_ABOUT: Row = (None,) * 9
_PageHashes: TypeAlias = tuple[int | None, int | None, int | None]
_NO_HASHES: _PageHashes = (None, None, None)
_encoder = Encoder(enc_hook=dict)  # any mapping becomes a dict


class PageProcessor:
    """Turns bodies into rows with the configured parsers, link rules, scoring and signature."""

    def __init__(self, config: Config, process: ParserProcess | None = None) -> None:
        """``process`` is a parser process to use; it is kept."""
        self.parsing = ContentParser(config, process=process, keeps_process=process is not None)
        self.link_rules = LinkRules(config)
        self._scoring = ScoringChain(chain("scoring", config))
        ((_, self._signature),) = chain("signature", config)
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._store_text = config.parse.store_text
        self._simhash = config.parse.simhash
        # As in Nutch, a page without a parser counts as failed if failures are deleted.
        self._not_tried = _NOT_TRIED[:1] if config.parse.delete_failed_parse else _NOT_TRIED

    def close(self) -> None:
        """Stop parsing suspicious content."""
        self.parsing.close()

    def decoded(self, headers: Headers, body: bytes) -> DecodedBody:
        """Return a body with its content codings removed."""
        codings = content_codings(headers)
        return decode(body, codings, self._limit) if codings else DecodedBody(body)

    def content(self, url: Url, datum: CrawlDatum, headers: Headers, body: DecodedBody, cut: Truncation) -> Content:
        """Return a decoded body with its content type; ``cut`` tells how the response was truncated."""
        truncated = bool(cut or body.truncation)
        found = make_content(url, headers, body.body, truncated=truncated, sniff=self._sniffs)
        return self._scoring.before_parsing(url, datum, found)

    def sign(self, content: Content, text: str) -> bytes:
        """Return the signature of a page."""
        signed: bytes = self._signature.sign(content.url, content.body, text)
        return signed

    async def rows(self, datum: CrawlDatum, content: Content, *, apart: bool = False) -> list[PageRows]:
        """Parse a content, ``apart`` in another process; return the rows of the page and of documents inside it."""
        return self._rows(datum, content, await self.parsing.parse_async(content, apart=apart))

    def rows_in_place(self, datum: CrawlDatum, content: Content) -> list[PageRows] | None:
        """Like ``rows``, but return ``None`` without parsing if it may take long."""
        outcome = self.parsing.parse_in_place(content)
        return None if outcome is None else self._rows(datum, content, outcome)

    def _rows(self, datum: CrawlDatum, content: Content, outcome: ParseOutcome) -> list[PageRows]:
        if isinstance(outcome, ParseFailed):
            return [self._unparsed(content, outcome)]
        own, *entries = outcome.pages
        found = [self._page(datum, content, own)]
        return found + self._entries(datum, content, own, entries) if entries else found

    def _unparsed(self, content: Content, failure: ParseFailed) -> PageRows:
        reason = f"{failure.reason}: {failure.detail}" if failure.detail else failure.reason
        status, signature = SKIPPED if failure.reason in self._not_tried else FAILED, self.sign(content, "")
        return PageRows(_data(Page(url=content.url), content.media_type, status, signature, reason=reason), None, ())

    def _page(self, datum: CrawlDatum, content: Content, page: Page) -> PageRows:
        url = page.url
        page = self._scoring.after_parsing(url, content, page)
        kept = self.link_rules.keep(page)
        links = self._scoring.distribute(url, datum, page, kept.links, kept.found)
        status = PARSED
        if page.refresh is not None and page.refresh.is_redirect:
            status, links = REDIRECT, self._refreshed(url, page.refresh.target, datum)
        signature = self.sign(content, signed_text(page.title, page.text))
        return self._page_rows(page, content.media_type, status, signature, links, self._hashes(page, links))

    def _hashes(self, page: Page, links: Sequence[Outlink]) -> _PageHashes:
        """Return the hashes of a page: of its text for near-duplicates, of its words and links for traps."""
        text = page.text
        if not text:
            return _NO_HASHES
        return (
            signed64(simhash(text)) if self._simhash else None,
            words_hash(page.url, page.title, text),
            links_hash(page.url, [link.target.text for link in links if link.kind != ADJUSTMENT]),
        )

    def _entries(self, datum: CrawlDatum, content: Content, own: Page, entries: Sequence[Page]) -> list[PageRows]:
        """Return the rows of the documents inside a content whose URLs the link rules keep.

        They have no signature, because they were not fetched, and pass on no score, because the document that contains
        them does.
        """
        found: list[PageRows] = []
        without_score = replace(datum, score=0.0)
        for each in entries:
            own_link = self.link_rules.keep(Page(url=own.url, outlinks=(Outlink(target=each.url),)))
            if not own_link.links:
                continue
            target = own_link.links[0].target
            page = each if target is each.url else replace(each, url=target)
            page = self._scoring.after_parsing(target, content, page)
            kept = self.link_rules.keep(page)
            links = self._scoring.distribute(target, without_score, page, kept.links, kept.found)
            kind = page.media_type or content.media_type
            found.append(self._page_rows(page, kind, ENTRY, None, links, part_of=own.url.text))
        return found

    def _refreshed(self, url: Url, target: Url, datum: CrawlDatum) -> Sequence[Outlink]:
        """Return the target of an immediate meta refresh as the only link: the page counts as a redirect."""
        kept = self.link_rules.redirect(url, target)
        if not isinstance(kept, Url):
            return ()
        return (Outlink(target=kept, rel="refresh", kind="refresh", extra=datum.extra),)

    def _page_rows(
        self,
        page: Page,
        media_type: str,
        status: str,
        signature: bytes | None,
        links: Sequence[Outlink],
        hashes: _PageHashes = _NO_HASHES,
        part_of: str | None = None,
    ) -> PageRows:
        count = sum(link.kind != ADJUSTMENT for link in links)
        data = _data(page, media_type, status, signature, count, hashes, part_of)
        if not self._store_text:
            return PageRows(data, None, links)
        url, text, main_text, markdown = page.url, page.text, page.main_text, page.markdown
        told = page.main_text_kept, page.main_text_doubtful
        row = (url.text, url.key, text, main_text or None, markdown or None, part_of, *told)
        return PageRows(data, row, links, len(text) + len(main_text) + len(markdown))


def _data(
    page: Page,
    media_type: str,
    status: str,
    signature: bytes | None,
    links: int = 0,
    hashes: _PageHashes = _NO_HASHES,
    part_of: str | None = None,
    reason: str = "",
) -> Row:
    return (
        page.url.text,
        page.url.key,
        status,
        reason or None,
        page.doubt or None,
        part_of,
        page.title or None,
        page.language or page.metadata.get("language"),
        media_type,
        page.encoding or None,
        page.canonical.text if page.canonical is not None else None,
        page.noindex,
        page.nofollow,
        page.noarchive,
        page.nosnippet,
        _moment(page.unavailable_after),
        links,
        signature,
        *hashes,
        list(page.metadata.items()) or None,
        page.headings,
        page.sections,
        page.alternates,
        *(_NOTHING_ABOUT if page.about is None else _about(page.about)),
    )


def _about(about: PageMetadata) -> Row:
    """Return the metadata columns of a page; the last holds all of it as JSON."""
    return (
        about.description or None,
        None if about.image is None else about.image.url,
        about.site_name or None,
        [author.name for author in about.authors] or None,
        _moment(about.published),
        _moment(about.modified),
        about.type or None,
        about.keywords or None,
        _encoder.encode(about).decode(),
    )


def _moment(time: datetime | None) -> int | None:
    """Return a time from a page as microseconds; without a zone it is taken as UTC."""
    if time is None:
        return None
    return to_micros(time if time.tzinfo is not None else time.replace(tzinfo=UTC))


def signed64(hashed: bytes) -> int:
    """Return eight bytes as a signed 64-bit integer.

    >>> signed64(b"\\xff" * 8)
    -1
    """
    return int.from_bytes(hashed, signed=True)
