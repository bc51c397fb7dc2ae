"""Parsing, language detection and indexing of pages."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class ParseSettings(Section, frozen=True):
    """Parsing: types, encodings, text, links, metadata and parse filters."""

    parsers: Annotated[
        tuple[str, ...],
        Setting(
            "Active parsers, in order; those that support a page's type are tried until one finds something.",
            example='["html"]',
        ),
    ] = ("html", "text", "feed", "sitemap", "xml", "pdf", "office", "zip", "image", "script", "css")
    types: Annotated[
        tuple[str, ...],
        Setting(
            "Parsers per media type, in order, as type=parser,parser, overriding the types that parsers "
            "declare; `image/*` is a family of types, `*/*` every other type.",
            example='["application/pdf=command,pdf", "*/*=text"]',
        ),
    ] = ()
    filter_order: Annotated[
        tuple[str, ...],
        Setting(
            "Active parse filters, in order.", nutch=("htmlparsefilter.order",), example='["metatags", "headings"]'
        ),
    ] = ()
    timeout: Annotated[timedelta | None, Setting("Maximum time for parsing one page.", nutch=("parser.timeout",))] = (
        timedelta(seconds=30)
    )
    memory: Annotated[
        Size, Setting("Memory limit of the parser process, which parses pages that may be slow.", at_least=256 * 2**20)
    ] = Size(2**30)
    mime_type_magic: Annotated[
        bool, Setting("Detect the type from the first bytes too, not only from the header.", nutch=("mime.type.magic",))
    ] = True
    character_encoding_default: Annotated[
        str,
        Setting(
            "Character encoding of pages whose encoding is neither declared nor detected.",
            nutch=("parser.character.encoding.default",),
        ),
    ] = "windows-1252"
    caching_forbidden_policy: Annotated[
        Literal["none", "content", "all"],
        Setting(
            "What a page's noarchive keeps out of the index: nothing, its content, or the whole page.",
            nutch=("parser.caching.forbidden.policy",),
            planned=True,
        ),
    ] = "content"
    skip_truncated: Annotated[bool, Setting("Do not parse truncated pages.", nutch=("parser.skip.truncated",))] = True
    delete_failed_parse: Annotated[
        bool,
        Setting(
            "Give pages that cannot be parsed the status parse_failed, and delete them from the index.",
            nutch=("parser.delete.failed.parse",),
        ),
    ] = False
    simhash: Annotated[
        bool, Setting("Compute a simhash of the text, so that near-duplicates can be found (`scoter dedup --near`).")
    ] = False
    store_text: Annotated[
        bool,
        Setting(
            "Store the text of pages; if off, it is extracted only if a signature or plug-in reads it.",
            nutch=("parser.store.text",),
        ),
    ] = True
    extractor: Annotated[
        Literal["none", "resiliparse", "trafilatura"],
        Setting(
            "Extractor of the main text, which is stored in addition to the whole text; resiliparse requires the "
            "extra text, and trafilatura (more accurate, three times slower) the extra trafilatura.",
            nutch=("tika.extractor",),
        ),
    ] = "none"
    markdown: Annotated[
        bool,
        Setting("Store the main content as Markdown; requires the extra text unless parse.extractor is trafilatura."),
    ] = False
    metadata: Annotated[
        bool, Setting("Store page metadata (OpenGraph, Twitter cards, JSON-LD, microdata and others) as one record.")
    ] = False
    metadata_order: Annotated[
        tuple[str, ...],
        Setting(
            "Order of precedence of the sources of a metadata field, as field=source,source.",
            example='["title=jsonld,opengraph,html"]',
        ),
    ] = ()
    script_links: Annotated[bool, Setting("Extract links from scripts.")] = False
    entries: Annotated[
        int, Setting("Entries of a feed, or members of a zip, that become pages; 0 means none.", at_least=0)
    ] = 1000
    filter_urls: Annotated[bool, Setting("Apply the URL filters to links.", nutch=("parse.filter.urls",))] = True
    normalize_urls: Annotated[bool, Setting("Apply the URL normalisers to links.", nutch=("parse.normalize.urls",))] = (
        True
    )
    html_form_use_action: Annotated[
        bool, Setting("Extract links from the actions of forms.", nutch=("parser.html.form.use_action",))
    ] = False
    html_outlinks_ignore_tags: Annotated[
        tuple[str, ...],
        Setting(
            "Elements whose links are ignored.",
            nutch=("parser.html.outlinks.ignore_tags",),
            example='["img", "script"]',
        ),
    ] = ()
    html_outlinks_htmlnode_metadata_name: Annotated[
        str,
        Setting(
            "Metadata key that stores the element a link came from; empty means none.",
            nutch=("parser.html.outlinks.htmlnode_metadata_name",),
        ),
    ] = ""
    html_line_separators: Annotated[
        tuple[str, ...], Setting("Elements that start a new line of text.", nutch=("parser.html.line.separators",))
    ] = (
        *("article", "aside", "blockquote", "canvas", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main"),
        *("nav", "noscript", "ol", "output", "p", "pre", "section", "table", "tfoot", "ul", "video"),
    )
    metatags_names: Annotated[
        tuple[str, ...], Setting("Meta elements that the parse filter metatags stores.", nutch=("metatags.names",))
    ] = ("description", "keywords")
    headings: Annotated[
        tuple[str, ...], Setting("Elements that the parse filter headings stores.", nutch=("headings",))
    ] = ("h1", "h2")
    headings_multivalued: Annotated[
        bool, Setting("Store every heading, not only the first.", nutch=("headings.multivalued",))
    ] = False


class LanguageSettings(Section, frozen=True):
    """The parse filter language."""

    extraction_policy: Annotated[
        tuple[Literal["detect", "identify"], ...],
        Setting(
            "How the language is found, in order: detect uses headers and markup, identify uses the text and "
            "requires the extra language.",
            nutch=("lang.extraction.policy",),
        ),
    ] = ("detect", "identify")
    analyze_max_length: Annotated[
        int,
        Setting(
            "Characters of text used to identify the language.",
            nutch=("lang.analyze.max.length",),
            at_least=1,
            at_most=1_000_000,
            departs="500 characters proved to be enough",
        ),
    ] = 500
    identification_only_certain: Annotated[
        bool, Setting("Store a language only if it is certain.", nutch=("lang.identification.only.certain",))
    ] = False
    index_languages: Annotated[
        tuple[str, ...],
        Setting(
            "Index only pages in these languages; empty means all.",
            nutch=("lang.index.languages",),
            example='["en", "de"]',
            planned=True,
        ),
    ] = ()


class IndexSettings(Section, frozen=True):
    """Documents for the search back ends: filters, writers and what is deleted."""

    filter_order: Annotated[
        tuple[str, ...],
        Setting(
            "Active indexing filters, in order.",
            nutch=("indexingfilter.order",),
            example='["basic", "anchor"]',
            planned=True,
        ),
    ] = ()
    writers: Annotated[
        tuple[str, ...], Setting("Active index writers; each gets every document.", example='["csv"]', planned=True)
    ] = ()
    score_power: Annotated[
        float, Setting("Exponent that turns a score into a document's boost.", nutch=("indexer.score.power",))
    ] = 0.5
    max_title_length: Annotated[
        int | None,
        Setting(
            "Maximum length of an indexed title, in characters.",
            nutch=("indexer.max.title.length",),
            at_least=0,
            planned=True,
        ),
    ] = 100
    max_content_length: Annotated[
        int | None,
        Setting(
            "Maximum length of indexed text, in characters.",
            nutch=("indexer.max.content.length",),
            at_least=0,
            planned=True,
        ),
    ] = None
    add_domain: Annotated[bool, Setting("Add the registered domain.", nutch=("indexer.add.domain",), planned=True)] = (
        False
    )
    skip_notmodified: Annotated[
        bool, Setting("Leave out pages that have not changed.", nutch=("indexer.skip.notmodified",), planned=True)
    ] = False
    delete: Annotated[
        bool, Setting("Delete gone, redirected and duplicate pages.", nutch=("indexer.delete",), planned=True)
    ] = False
    delete_robots_noindex: Annotated[
        bool, Setting("Delete pages with noindex.", nutch=("indexer.delete.robots.noindex",), planned=True)
    ] = False
    delete_skipped_by_indexingfilter: Annotated[
        bool,
        Setting(
            "Delete documents that an indexing filter dropped.",
            nutch=("indexer.delete.skipped.by.indexingfilter",),
            planned=True,
        ),
    ] = False
    filter_expr: Annotated[
        str,
        Setting(
            "Expression that selects the documents to index, for the filter expression.",
            nutch=("index.jexl.filter",),
            nutch_unit="expression",
            planned=True,
        ),
    ] = ""
    static: Annotated[
        tuple[str, ...],
        Setting(
            "Fields with a constant value, as field:value, for the filter static.",
            nutch=("index.static",),
            example='["source:crawl"]',
            planned=True,
        ),
    ] = ()
    parse_md: Annotated[
        tuple[str, ...],
        Setting("Parse metadata to index as fields, for the filter metadata.", nutch=("index.parse.md",), planned=True),
    ] = ("metatag.description", "metatag.keywords")
    content_md: Annotated[
        tuple[str, ...], Setting("Content metadata to index as fields.", nutch=("index.content.md",), planned=True)
    ] = ()
    db_md: Annotated[
        tuple[str, ...], Setting("Crawldb metadata to index as fields.", nutch=("index.db.md",), planned=True)
    ] = ()
    replace_regexp: Annotated[
        tuple[str, ...],
        Setting(
            "Replacements in fields, as field=/pattern/replacement/, for the filter replace.",
            nutch=("index.replace.regexp",),
            nutch_unit="lines",
            example='["title=/ +/ /"]',
            planned=True,
        ),
    ] = ()
    more_index_mime_type_parts: Annotated[
        bool,
        Setting(
            "Index the two parts of a content type separately as well, for the filter more.",
            nutch=("moreIndexingFilter.indexMimeTypeParts",),
            planned=True,
        ),
    ] = True
    more_map_mime_types: Annotated[
        bool, Setting("Group content types into categories.", nutch=("moreIndexingFilter.mapMimeTypes",), planned=True)
    ] = False
    anchor_deduplicate: Annotated[
        bool,
        Setting(
            "Index each anchor text once, for the filter anchor.",
            nutch=("anchorIndexingFilter.deduplicate",),
            planned=True,
        ),
    ] = False
    links_outlinks_host_ignore: Annotated[
        bool,
        Setting(
            "Leave out links to the page's own host, for the filter links.",
            nutch=("index.links.outlinks.host.ignore",),
            planned=True,
        ),
    ] = False
    links_inlinks_host_ignore: Annotated[
        bool,
        Setting("Leave out links from the page's own host.", nutch=("index.links.inlinks.host.ignore",), planned=True),
    ] = False
    links_hosts_only: Annotated[
        bool, Setting("Index only the hosts of links.", nutch=("index.links.hosts.only",), planned=True)
    ] = False
    subcollection_default_fieldname: Annotated[
        str, Setting("Field of the filter subcollection.", nutch=("subcollection.default.fieldname",), planned=True)
    ] = "subcollection"
    mimetype_filter_file: Annotated[
        Path | None,
        Setting(
            "Content types to index or to leave out; required if the filter mimetype is active.",
            nutch=("mimetype.filter.file",),
            planned=True,
        ),
    ] = None
