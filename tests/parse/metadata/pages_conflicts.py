"""Pages whose sources contradict each other, with the default and other orders."""

from __future__ import annotations

from typing import Any, Final

from tests.parse.metadata.expectation import Case, case, ld

_OG: Final = """<meta property="og:title" content="og"><meta property="og:description" content="og">
<meta property="og:image" content="/og.jpg"><meta property="og:url" content="/og"><meta property="og:type" content="og">
<meta property="og:site_name" content="og"><meta property="og:locale" content="fr_FR">
<meta property="article:author" content="og"><meta property="article:tag" content="og">
<meta property="article:published_time" content="2001-01-01">
        <meta property="article:modified_time" content="2001-01-02">
<meta property="og:video" content="/og.mp4"><meta property="product:price:amount" content="1">"""
_TWITTER: Final = """<meta name="twitter:title" content="tw"><meta name="twitter:description" content="tw">
<meta name="twitter:image" content="/tw.jpg"><meta name="twitter:url" content="/tw">
<meta name="twitter:creator" content="@tw"><meta name="twitter:player" content="/tw.html">"""
_LD: Final = ld("""{"@type": "Article", "headline": "ld", "description": "ld", "image": "/ld.jpg", "author": "ld",
"mainEntityOfPage": "https://a.example/ld", "publisher": {"name": "ld"}, "inLanguage": "it", "keywords": "ld",
"datePublished": "2002-01-01", "dateModified": "2002-01-02", "license": "/ld-licence", "offers": {"price": 2},
"video": {"@type": "VideoObject", "contentUrl": "/ld.mp4"}}""")
_MICRODATA: Final = """<div itemscope itemtype="http://schema.org/Article"><b itemprop="headline">md</b>
<b itemprop="description">md</b><img itemprop="image" src="/md.jpg"><b itemprop="author">md</b>
<b itemprop="publisher">md</b><b itemprop="keywords">md</b><b itemprop="inLanguage">es</b>
<time itemprop="datePublished" datetime="2003-01-01"></time><time itemprop="dateModified" datetime="2003-01-02"></time>
<a itemprop="license" href="/md-licence"></a></div>"""
_RDFA: Final = """<div vocab="http://schema.org/" typeof="Report"><b property="headline">rdfa</b>
<b property="description">rdfa</b><img property="image" src="/rdfa.jpg"><b property="author">rdfa</b>
<b property="keywords">rdfa</b><time property="datePublished" datetime="2004-01-01"></time></div>"""
_DC: Final = """<meta name="dc.title" content="dc"><meta name="dc.description" content="dc">
<meta name="dc.creator" content="dc"><meta name="dc.date" content="2005-01-01"><meta name="dc.subject" content="dc">
<meta name="dc.language" content="sv"><meta name="dc.publisher" content="dc"><meta name="dc.type" content="dc">
<meta name="dc.rights" content="https://a.example/dc-licence">"""
_MICROFORMATS: Final = """<div class="h-entry"><b class="p-name">mf</b><b class="p-summary">mf</b>
<img class="u-photo" src="/mf.jpg"><b class="p-author">mf</b><b class="p-category">mf</b>
<time class="dt-published" datetime="2006-01-01"></time></div>"""
_LINK: Final = """<link rel="canonical" href="/link"><link rel="license" href="/link-licence">
<link rel="image_src" href="/link.jpg"><link rel="author" title="link" href="/link">"""
_META: Final = """<meta name="description" content="meta"><meta name="author" content="meta">
<meta name="keywords" content="meta"><meta name="application-name" content="meta">
        <meta name="date" content="2007-01-01">
<meta http-equiv="content-language" content="nl"><meta name="title" content="meta">"""
_HTML: Final = """<title>html</title><a rel="author" href="/html">html</a><a rel="tag" href="/t">html</a>
<a rel="license" href="/html-licence">html</a><video src="/html.mp4"></video>"""


def _picture(name: str) -> dict[str, Any]:
    return {"url": f"https://a.example/{name}.jpg"}


def _at(day: str) -> str:
    return f"{day}T00:00:00Z"


EVERY: Final = _OG + _TWITTER + _LD + _DC + _LINK + _META + _HTML + _MICRODATA + _RDFA + _MICROFORMATS

CASES: tuple[Case, ...] = (
    case(
        "a_customer_s_review_beside_the_product_has_not_the_page_s_author",
        ld('{"@type": "Product", "name": "A net"}')
        + """<div itemscope itemtype="https://schema.org/Review"><b itemprop="name">Holds well</b>
        <b itemprop="author">Bob Roe</b><time itemprop="datePublished" datetime="2024-03-05">x</time></div>""",
        title=("jsonld", "A net"),
        type=("jsonld", "Product"),
        product=("jsonld", {"name": "A net"}),
    ),
    case(
        "every_source_at_once",
        f'<html lang="da">{EVERY}',
        title=("opengraph", "og"),
        description=("opengraph", "og"),
        image=("opengraph", _picture("og")),
        canonical=("link", "https://a.example/link"),
        site_name=("opengraph", "og"),
        authors=("jsonld", [{"name": "ld"}]),
        published=("jsonld", _at("2002-01-01")),
        modified=("jsonld", _at("2002-01-02")),
        language=("html", "da"),
        type=("opengraph", "og"),
        keywords=("meta", ["meta"]),
        media=("opengraph", [{"url": "https://a.example/og.mp4", "kind": "video"}]),
        license=("link", "https://a.example/link-licence"),
        product=("jsonld", {"price": "2"}),
    ),
    case(
        "all_but_opengraph",
        EVERY.replace(_OG, ""),
        title=("twitter", "tw"),
        description=("twitter", "tw"),
        image=("twitter", _picture("tw")),
        canonical=("link", "https://a.example/link"),
        site_name=("jsonld", "ld"),
        authors=("jsonld", [{"name": "ld"}]),
        published=("jsonld", _at("2002-01-01")),
        modified=("jsonld", _at("2002-01-02")),
        language=("jsonld", "it"),
        type=("jsonld", "Article"),
        keywords=("meta", ["meta"]),
        media=("twitter", [{"url": "https://a.example/tw.html", "kind": "player"}]),
        license=("link", "https://a.example/link-licence"),
        product=("jsonld", {"price": "2"}),
    ),
    case(
        "jsonld_and_what_comes_after",
        "<h1>LD!</h1>" + _LD + _DC + _META + _HTML + _MICRODATA + _RDFA + _MICROFORMATS,
        title=("jsonld", "ld"),
        description=("meta", "meta"),
        image=("jsonld", _picture("ld")),
        canonical=("jsonld", "https://a.example/ld"),
        site_name=("jsonld", "ld"),
        authors=("jsonld", [{"name": "ld"}]),
        published=("jsonld", _at("2002-01-01")),
        modified=("jsonld", _at("2002-01-02")),
        language=("jsonld", "it"),
        type=("jsonld", "Article"),
        keywords=("meta", ["meta"]),
        media=("jsonld", [{"url": "https://a.example/ld.mp4", "kind": "video"}]),
        license=("jsonld", "https://a.example/ld-licence"),
        product=("jsonld", {"price": "2"}),
    ),
    case(
        "a_headline_in_jsonld_that_the_page_never_shows_comes_after_the_title",
        "<title>Seals of the coast</title><h1>Seals</h1>" + ld('{"@type": "Article", "headline": "10 seals to see"}'),
        title=("html", "Seals of the coast"),
        type=("jsonld", "Article"),
    ),
    case(
        "a_headline_in_jsonld_that_the_page_never_shows_comes_after_the_name",
        "<title>Coast</title>" + ld('{"@type": "Article", "headline": "10 seals to see", "name": "Seals"}'),
        title=("jsonld", "Seals"),
        type=("jsonld", "Article"),
    ),
    case(
        "a_headline_in_jsonld_is_recognised_in_a_heading_with_other_punctuation",
        "<title>Coast</title><h1>The coast’s <i>seals</i></h1>"
        + ld('{"@type": "Article", "headline": "The coast\'s seals", "name": "x"}'),
        title=("jsonld", "The coast's seals"),
        type=("jsonld", "Article"),
    ),
    case(
        "a_byline_comes_before_a_twitter_handle",
        '<title>x</title><meta name="twitter:creator" content="@anndoe"><h1>x</h1><p class="byline">By Ann Doe</p>',
        title=("html", "x"),
        authors=("content", [{"name": "Ann Doe"}]),
    ),
    case(
        "an_icon_with_a_size_comes_before_those_without",
        """<link rel="apple-touch-icon" href="/touch.png"><link rel="icon" href="/i.svg" type="image/svg+xml">
        <link rel="icon" sizes="32x32" href="/32.png"><link rel="icon" href="/favicon.ico">""",
        icon=("link", {"url": "https://a.example/32.png", "width": 32, "height": 32}),
    ),
    case(
        "a_video_is_no_image",
        """<meta property="og:image" content="/a.mp4?x=1"><article><img src="/b.MP4" width="900" height="600">
        <img src="/c.jpg" width="300" height="200"></article>""",
        image=("content", {"url": "https://a.example/c.jpg", "width": 300, "height": 200}),
    ),
    case(
        "the_publisher_of_a_meta_element_is_the_site",
        '<meta name="publisher" content="Coast Daily">',
        site_name=("meta", "Coast Daily"),
    ),
    case(
        "microdata_and_what_comes_after",
        _DC + _HTML + _MICRODATA + _RDFA + _MICROFORMATS,
        title=("microdata", "md"),
        description=("microdata", "md"),
        image=("microdata", _picture("md")),
        site_name=("microdata", "md"),
        authors=("microdata", [{"name": "md"}]),
        published=("microdata", _at("2003-01-01")),
        modified=("microdata", _at("2003-01-02")),
        language=("microdata", "es"),
        type=("microdata", "Article"),
        keywords=("microdata", ["md"]),
        media=("html", [{"url": "https://a.example/html.mp4", "kind": "video"}]),
        license=("microdata", "https://a.example/md-licence"),
    ),
    case(
        "rdfa_and_what_comes_after",
        _DC + _RDFA + _MICROFORMATS + _HTML,
        title=("rdfa", "rdfa"),
        description=("rdfa", "rdfa"),
        image=("rdfa", _picture("rdfa")),
        site_name=("dublincore", "dc"),
        authors=("rdfa", [{"name": "rdfa"}]),
        published=("rdfa", _at("2004-01-01")),
        language=("dublincore", "sv"),
        type=("rdfa", "Report"),
        keywords=("rdfa", ["rdfa"]),
        media=("html", [{"url": "https://a.example/html.mp4", "kind": "video"}]),
        license=("dublincore", "https://a.example/dc-licence"),
    ),
    case(
        "dublin_core_microformats_and_html",
        _DC + _MICROFORMATS + _HTML,
        title=("microformats", "mf"),
        description=("dublincore", "dc"),
        image=("microformats", _picture("mf")),
        site_name=("dublincore", "dc"),
        authors=("dublincore", [{"name": "dc"}]),
        published=("dublincore", _at("2005-01-01")),
        language=("dublincore", "sv"),
        type=("microformats", "h-entry"),
        keywords=("dublincore", ["dc"]),
        media=("html", [{"url": "https://a.example/html.mp4", "kind": "video"}]),
        license=("dublincore", "https://a.example/dc-licence"),
    ),
    case(
        "links_metas_and_html",
        _LINK + _META + _HTML,
        title=("html", "html"),
        description=("meta", "meta"),
        image=("link", _picture("link")),
        canonical=("link", "https://a.example/link"),
        site_name=("meta", "meta"),
        authors=("meta", [{"name": "meta"}]),
        published=("meta", _at("2007-01-01")),
        language=("meta", "nl"),
        keywords=("meta", ["meta"]),
        media=("html", [{"url": "https://a.example/html.mp4", "kind": "video"}]),
        license=("link", "https://a.example/link-licence"),
    ),
    Case(
        "an_order_of_ones_own",
        _OG + _LD + _HTML,
        {
            "title": ("html", "html"),
            "description": ("jsonld", "ld"),
            "image": ("jsonld", _picture("ld")),
            "authors": ("html", [{"name": "html", "url": "https://a.example/html"}]),
            "type": ("jsonld", "Article"),
        },
        (
            *("title=html,opengraph", "description=jsonld", "image=content,jsonld", "authors=html", "type=jsonld"),
            *("canonical=microdata", "site_name=", "published=", "modified=", "language=", "keywords=", "media="),
            *("license=", "product=link"),
        ),
    ),
    case(
        "a_picture_of_two_sources_has_what_both_say",
        """<meta property="og:image" content="/i.jpg"><meta name="twitter:image" content="https://a.example/i.jpg">
        <meta name="twitter:image:alt" content="A seal">"""
        + ld('{"@type": "Article", "headline": "x", "image": {"url": "/i.jpg", "width": 4, "height": 3}}'),
        title=("jsonld", "x"),
        type=("jsonld", "Article"),
        image=("opengraph", {"url": "https://a.example/i.jpg", "alt": "A seal", "width": 4, "height": 3}),
    ),
    case(
        "a_value_that_means_nothing_leaves_the_field_to_the_next_source",
        """<meta property="og:image" content="javascript:x"><meta property="og:url" content="mailto:a@a.example">
        <meta property="og:locale" content="?"><meta property="article:published_time" content="soon">
        <meta name="twitter:image" content="/tw.jpg"><meta name="date" content="2024-03-05">"""
        + ld('{"@type": "Article", "datePublished": "1066-10-14", "author": {}, "image": [[]], "url": 7}'),
        image=("twitter", _picture("tw")),
        type=("jsonld", "Article"),
        published=("meta", _at("2024-03-05")),
    ),
)
