"""The built-in indexing filters that copy what is known about a page into fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec.structs import replace

from scoter.builtin.rulefiles import read_rules
from scoter.core.dates import parse_date
from scoter.core.document import CrawledPage, Document, Inlink
from scoter.core.domain import public_suffix, registered_domain
from scoter.core.language_tags import language_tag, primary
from scoter.core.page import split_values
from scoter.core.representative import REPRESENTATIVE
from scoter.core.url import Url, canonical
from scoter.errors import RuleError, UrlError
from scoter.plugins import Setup

MOST_ANCHORS: Final = 100
MOST_LINKS: Final = 1_000
MOST_HEADINGS: Final = 50
_ANCHORS_LENGTH: Final = 8_192


class BasicIndexingFilter:
    """Sets url, host, domain, title, content, tstamp, digest, boost, segment and cache."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.index
        self._longest_title = settings.max_title_length
        self._longest_content = settings.max_content_length
        self._add_domain = settings.add_domain
        self._cache = setup.config.parse.caching_forbidden_policy

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        page, url = crawled.page, shown_url(crawled)
        forbidden = page.noarchive and self._cache != "none"
        if page.main_text:
            document = replace(document, rest=beside(page.main_text, page.text)[: self._longest_content])
        return document.with_fields(
            url=[url.text],
            host=[url.host],
            domain=[registered_domain(url.host) if self._add_domain else None],
            title=[page.title[: self._longest_title]],
            content=[(page.main_text or page.text)[: self._longest_content]],
            tstamp=[crawled.fetched],
            digest=[crawled.datum.signature.hex() if crawled.datum.signature else None],
            boost=[document.boost],
            segment=[crawled.segment],
            cache=[self._cache if forbidden else None],
            nosnippet=[True if page.nosnippet else None],
        )


def beside(main_text: str, text: str) -> str:
    """Return the lines of a page's text that are not lines of its main text.

    >>> beside("Grey seals\\neat fish.", "Home\\nGrey seals\\neat fish.\\nImprint")
    'Home\\nImprint'
    """
    main = {line.strip() for line in main_text.split("\n")}
    return "\n".join(line for line in text.split("\n") if line.strip() not in main)


def shown_url(crawled: CrawledPage) -> Url:
    """Return the representative URL of a page that a redirect led to, or its own."""
    found = crawled.datum.metadata.get(REPRESENTATIVE)
    if found is None or crawled.part_of:
        return crawled.page.url
    try:
        return canonical(found)
    except UrlError:  # in a seed list, or imported
        return crawled.page.url


class AnchorIndexingFilter:
    """Sets anchor to the texts of the links to the page."""

    def __init__(self, setup: Setup) -> None:
        self._deduplicate = setup.config.index.anchor_deduplicate

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields(anchor=bounded_anchors(crawled.inlinks, deduplicate=self._deduplicate))


class MoreIndexingFilter:
    """Sets lastModified, date, contentLength and type."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.index
        self._parts = settings.more_index_mime_type_parts
        self._groups = _type_groups(setup) if settings.more_map_mime_types else {}
        self._group_field = settings.more_map_mime_types_field

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        modified = parse_date(crawled.headers.get("Last-Modified"))
        media_type = crawled.page.media_type or crawled.headers.get("Content-Type", "").partition(";")[0].strip()
        length = crawled.headers.get("Content-Length", "")
        return document.with_fields(
            lastModified=[modified],
            date=[modified or crawled.datum.modified_time or crawled.fetched],
            contentLength=[int(length) if length.isascii() and length.isdigit() else None],
            type=self._types(media_type.lower()),
        ).with_fields({self._group_field: [self._groups.get(media_type.lower())] if self._group_field else []})

    def _types(self, media_type: str) -> Iterable[str]:
        if self._groups and not self._group_field:
            return [self._groups.get(media_type, media_type)]
        if not self._parts or "/" not in media_type:
            return [media_type]
        return [media_type, *media_type.split("/", 1)]


class AboutIndexingFilter:
    """Sets description, image, site, author, published, keywords and heading from what the page says about itself."""

    def __init__(self, setup: Setup) -> None: ...

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        about, headings = crawled.page.about, crawled.page.headings
        document = document.with_fields(heading=[heading.text for heading in headings[:MOST_HEADINGS]])
        if about is None:
            return document
        return document.with_fields(
            description=[about.description],
            image=[about.image.url if about.image else None],
            site=[about.site_name],
            author=[author.name for author in about.authors],
            published=[about.published],
            keywords=about.keywords,
        )


class LanguageIndexingFilter:
    """Sets lang, and drops pages in languages other than those of lang.index_languages."""

    def __init__(self, setup: Setup) -> None:
        wanted = frozenset(name.strip().lower() for name in setup.config.lang.index_languages)
        self._wanted = frozenset() if "all" in wanted else wanted

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        language = primary_language(crawled.page.language)
        if self._wanted and language not in self._wanted:
            return None
        return document.with_fields(lang=[language])


class MetadataIndexingFilter:
    """Sets fields from the metadata of the crawldb, the response and the page that index.*_md name."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.index
        self._db, self._content, self._parse = settings.db_md, settings.content_md, settings.parse_md
        self._separator = settings.metadata_separator

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        headers = {name.lower(): value for name, value in crawled.headers.items()}
        found = {
            **{name: self._values(crawled.datum.metadata.get(name, "")) for name in self._db},
            **{name: self._values(headers.get(name.lower(), "")) for name in self._content},
            **{name: self._values(crawled.page.metadata.get(name, "")) for name in self._parse},
        }
        return document.with_fields(found)

    def _values(self, text: str) -> Iterable[str]:
        if not self._separator:
            return split_values(text)
        return [part.strip() for value in split_values(text) for part in value.split(self._separator)]


class UrlmetaIndexingFilter:
    """Sets fields from the metadata of the seed that scoring.urlmeta_tags names."""

    def __init__(self, setup: Setup) -> None:
        self._tags = setup.config.scoring.urlmeta_tags

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields({tag: split_values(crawled.datum.metadata.get(tag, "")) for tag in self._tags})


class LinksIndexingFilter:
    """Sets inlinks and outlinks to the addresses of linking and linked pages, or to their hosts."""

    reads_outlinks = True

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.index
        self._skip_outlinks = settings.links_outlinks_host_ignore
        self._skip_inlinks = settings.links_inlinks_host_ignore
        self._hosts_only = settings.links_hosts_only

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        own = crawled.page.url.host
        outlinks = ((link.target.text, link.target.host) for link in crawled.page.outlinks)
        inlinks = ((link.url, _host_of(link.url)) for link in crawled.inlinks)
        return document.with_fields(
            outlinks=self._chosen(outlinks, own if self._skip_outlinks else None),
            inlinks=self._chosen(inlinks, own if self._skip_inlinks else None),
        )

    def _chosen(self, links: Iterable[tuple[str, str]], skipped: str | None) -> Iterable[str]:
        found = (host if self._hosts_only else url for url, host in links if host != skipped)
        return islice(dict.fromkeys(found), MOST_LINKS)


class FeedIndexingFilter:
    """Sets author, tags, published, updated and feed of the entries of feeds."""

    def __init__(self, setup: Setup) -> None: ...

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        about = crawled.page.about
        if not crawled.part_of or about is None:
            return document
        return document.with_fields(
            author=[author.name for author in about.authors],
            tags=about.keywords,
            published=[about.published],
            updated=[about.modified],
            feed=[crawled.part_of],
        )


class CreativeCommonsIndexingFilter:
    """Sets cc to the licence of a page and its conditions, as the parse filter creativecommons found them."""

    def __init__(self, setup: Setup) -> None: ...

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        metadata = crawled.page.metadata
        url, location = metadata.get("License-Url", ""), metadata.get("License-Location", "")
        features = [
            f"license={url}" if url else "",
            *split_values(metadata.get("License-Features", "")),
            metadata.get("License-Version", ""),
            metadata.get("License-Jurisdiction", ""),
            f"meta={location}" if location else "",
        ]
        return document.with_fields(cc=features)


class ReltagIndexingFilter:
    """Sets tag to the tags that the parse filter reltag found."""

    def __init__(self, setup: Setup) -> None: ...

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields(tag=split_values(crawled.page.metadata.get("Rel-Tag", "")))


class TldIndexingFilter:
    """Sets tld to the public suffix of the host."""

    def __init__(self, setup: Setup) -> None: ...

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields(tld=[public_suffix(crawled.page.url.host)])


def bounded_anchors(inlinks: Iterable[Inlink], *, deduplicate: bool = True) -> list[str]:
    """Return the anchor texts of links, each once if wanted (whatever its case), bounded in number and length.

    >>> bounded_anchors([Inlink("http://a.example/", "Seals"), Inlink("http://b.example/", "seals")])
    ['Seals']
    """
    found: list[str] = []
    seen: set[str] = set()
    room = _ANCHORS_LENGTH
    for link in inlinks:
        folded = link.anchor.lower()
        if not folded or (deduplicate and folded in seen):
            continue
        room -= len(folded)
        if room < 0 or len(found) == MOST_ANCHORS:
            break
        seen.add(folded)
        found.append(link.anchor)
    return found


def primary_language(tag: str) -> str:
    """Return the code of the language that a tag or a name stands for, without script and region.

    >>> primary_language("pt-BR"), primary_language("Swedish"), primary_language("")
    ('pt', 'sv', '')
    """
    return primary(language_tag(tag)) or tag.replace("_", "-").partition("-")[0].lower()


def _host_of(url: str) -> str:
    try:
        return canonical(url).host
    except UrlError:
        return ""


def _type_groups(setup: Setup) -> Mapping[str, str]:
    """Return the group of each content type, from a file with a line ``group TAB type TAB type …``."""
    file = read_rules(setup.config.index.more_mime_types_file, "index.more_mime_types_file", "contenttype-mapping.txt")
    return dict(_groups(file.lines, file.source))


def _groups(lines: Iterable[str], source: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        group, *types = (part.strip() for part in line.split("\t"))
        if not group or not any(types):
            raise RuleError(
                "expected a group and one or more content types, separated by tabs", file=source, line=number
            )
        yield from ((each.lower(), group) for each in types if each)
