"""Feeds: a page for the feed, one for each entry with an address."""

from __future__ import annotations

import socket
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import seconds_of
from tests.parse.feeds.documents import ATOM, JSON, PLACE, RDF, RSS, SITEMAP, chain, content, feed, targets

from scoter.config import load
from scoter.core.metadata import Author, Feed, Image, Media
from scoter.core.page import Page
from scoter.parse.feeds.feed import FeedParser
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import Parsed
from scoter.plugins import Setup

PARSER = FeedParser(Setup(load()))


def test_feed_becomes_a_page() -> None:
    page = feed(RSS, "application/rss+xml")[0]
    assert page.url == PLACE
    assert (page.title, page.language) == ("Birds & seals", "en-gb")
    assert page.text == "All about birds\nEider\nScoter\nBlack, and at sea."
    assert targets(page, "feed") == ["http://a.example/eider", "http://a.example/"]
    assert targets(page, "media") == ["http://a.example/eider.mp3"]
    assert page.outlinks[0].anchor == "Eider"
    assert [each.url.text for each in page.alternates] == ["http://a.example/"]
    assert page.about is not None
    assert page.about.feeds == (Feed(url=PLACE.text, media_type="application/rss+xml", title="Birds & seals"),)
    assert set(page.about.sources.values()) == {"feed"}


def test_entry_with_a_url_becomes_a_page() -> None:
    own, eider = feed(RSS)
    assert (eider.url.text, eider.title) == ("http://a.example/eider", "Eider")
    assert eider.text == "The eider is a sea duck.\nSoft."
    assert targets(eider, "a") == ["http://a.example/duck"]
    about = eider.about
    assert about is not None
    assert (about.description, about.site_name, about.canonical) == ("A duck.", "Birds & seals", eider.url.text)
    assert about.published == datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert (about.authors, about.keywords) == ((Author(name="Ann"),), ("ducks", "sea"))
    assert about.media == (Media(url="http://a.example/eider.mp3", kind="audio", media_type="audio/mpeg"),)
    assert own.media_type == eider.media_type == "application/xml"


def test_atom_has_bases_languages_and_times() -> None:
    own, eider = feed(ATOM, "application/atom+xml")
    assert (own.title, own.text, own.language) == ("Vögel", "von der See\nEiderente", "de")
    assert targets(own, "feed") == [
        "http://b.example/x/eider",
        "http://b.example/",
        "http://b.example/x/page2",
        "http://b.example/en/",
    ]
    assert [each.url.text for each in own.alternates] == ["http://b.example/", "http://b.example/en/"]
    assert (eider.url.text, eider.text, eider.language) == ("http://b.example/x/eider", "Eine Ente", "de")
    assert eider.about is not None
    assert eider.about.published == datetime(2026, 11, 13, 23, tzinfo=UTC)
    assert eider.about.modified == datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "document",
    [
        """<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><title>t</title><link>/</link>
        <a:link href="/own?a=1&amp;b=2" rel="self" type="application/rss+xml"/><a:link rel='hub' href='/hub'/>
        <item><link>/1</link><a:link rel="hub" href="/other"/></item></channel></rss>""",
        """<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link rel="self" href="/own?a=1&amp;b=2"/>
        <link rel="hub" href="/hub"/><link href="/"/><entry><title>e</title><link href="/1"/></entry></feed>""",
        """{"version": "https://jsonfeed.org/version/1.1", "feed_url": "/own?a=1&b=2", "home_page_url": "/",
        "hubs": [{"type": "WebSub", "url": "/hub"}, {"url": []}, "x"], "items": [{"id": "1", "url": "/1"}]}""",
    ],
)
def test_feed_links_to_its_hub_and_has_a_canonical_url(document: str) -> None:
    page = feed(document, "application/json" if document[0] == "{" else "application/xml")[0]
    assert [link.target.text for link in page.outlinks if link.rel == "hub"] == ["http://a.example/hub"]
    assert set(targets(page, "feed")) == {"http://a.example/1", "http://a.example/hub", "http://a.example/"}
    assert page.canonical is not None
    assert page.about is not None
    assert page.canonical.text == page.about.canonical == "http://a.example/own?a=1&b=2"


def test_podcast_has_authors_and_images() -> None:
    own, first, second = feed("""<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>
    <title>Talks</title><link>http://a.example/</link><itunes:author>Ann</itunes:author><language>en</language>
    <itunes:summary>Of the sea</itunes:summary><itunes:image href="/art.jpg"/><itunes:category text="Science"/>
    <item><title>One</title><link>http://a.example/1</link><itunes:image href="/1.jpg"/>
    <itunes:author>Bob</itunes:author><pubDate>Thu, 01 Oct 2026 7:00:00 -0700</pubDate>
    <enclosure url="/1.mp3" type="audio/mpeg"/></item>
    <item><title>Two</title><link>http://a.example/2</link></item></channel></rss>""")
    assert own.about is not None
    assert (own.about.description, own.about.keywords) == ("Of the sea", ("Science",))
    assert (own.about.image, own.about.authors) == (Image(url="http://a.example/art.jpg"), (Author(name="Ann"),))
    assert own.outlinks[-1].anchor == "Talks"
    assert first.about is not None
    assert (first.about.image, first.about.authors) == (Image(url="http://a.example/1.jpg"), (Author(name="Bob"),))
    assert first.about.published == datetime(2026, 10, 1, 14, tzinfo=UTC)
    assert first.about.media == (Media(url="http://a.example/1.mp3", kind="audio", media_type="audio/mpeg"),)
    assert second.about is not None
    assert second.about.authors == (Author(name="Ann"),)


def test_media_group_provides_image_and_description() -> None:
    _, video = feed("""<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
    <title>Films</title><link href="http://a.example/"/><entry><title>Seals</title><link href="http://a.example/1"/>
    <media:group><media:thumbnail url="/1.jpg"/><media:description>Grey ones</media:description></media:group>
    </entry></feed>""")
    assert video.text == "Grey ones"
    assert video.about is not None
    assert video.about.image == Image(url="http://a.example/1.jpg")


@pytest.mark.parametrize("document", [RSS, ATOM, RDF])
def test_partial_last_entry_of_truncated_feed_is_dropped(document: str) -> None:
    name = "entry" if "<entry>" in document else "item"
    half = f"<{name}><title>Half</title><link href='http://a.example/hal'>http://a.example/hal"
    own, *entries = feed(document[: document.rindex(f"</{name}>")] + f"</{name}>" + half)
    assert own.doubt == "truncated XML: the end of the feed is missing"
    assert len(entries) == 1
    assert "http://a.example/hal" not in targets(own, "feed")
    assert feed(document)[0].doubt == ""


def test_encoding_known_only_to_the_web_platform_is_decoded() -> None:
    page = feed(RSS.replace('version="1.0"', 'version="1.0" encoding="x-user-defined"', 1))[0]
    assert page.title == "Birds & seals"


@pytest.mark.parametrize(
    "picture",
    [
        '<media:thumbnail url="/i.jpg" width="320"/>',
        '<media:content url="/v.mp4" type="video/mp4"/><media:content url="/i.jpg" medium="image"/>',
        '<enclosure url="/a.mp3" type="audio/mpeg"/><enclosure url="/i.jpg" type="image/jpeg" length="9"/>',
    ],
)
def test_entry_image_is_found(picture: str) -> None:
    item = f"<item><title>Seals</title><link>http://a.example/1</link>{picture}</item>"
    body = f'<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>{item}</channel></rss>'

    about = feed(body)[1].about

    assert about is not None
    assert about.image == Image(url="http://a.example/i.jpg")


def test_episode_duration_is_read() -> None:
    items = "".join(
        f"<item><title>x</title><link>http://a.example/{number}</link>"
        f'<enclosure url="/s.mp3?a=1&amp;n={number}" type="audio/mpeg" length="9"/>{length}</item>'
        for number, length in enumerate(
            ("<itunes:duration>1:00:02</itunes:duration>", "<itunes:duration> 90 </itunes:duration>", "")
        )
    )
    itunes = "http://www.itunes.com/dtds/podcast-1.0.dtd"
    rss = f'<rss version="2.0" xmlns:itunes="{itunes}"><channel><title>Seals</title>{items}</channel></rss>'
    attachment = '{"url": "/s.mp3", "mime_type": "audio/mpeg", "duration_in_seconds": 90}'
    json = (
        '{"version": "https://jsonfeed.org/version/1.1", "title": "Seals", "items": [{"id": "1", "url": "/1",'
        f' "attachments": [{attachment}]}}]}}'
    )

    assert [_seconds(page) for page in feed(rss)[1:]] == [3602.0, 90.0, None]
    assert [_seconds(page) for page in feed(json, "application/feed+json")[1:]] == [90.0]


def _seconds(page: Page) -> float | None:
    assert page.about is not None
    return page.about.media[0].seconds


@pytest.mark.parametrize(
    "description",
    [
        "&lt;p&gt;Grey &lt;b&gt;seal&lt;/b&gt;s&lt;/p&gt;",
        "&amp;lt;p&amp;gt;Grey &amp;lt;b&amp;gt;seal&amp;lt;/b&amp;gt;s&amp;lt;/p&amp;gt;",
        "<![CDATA[<p>Grey <b>seal</b>s</p>]]>",
        "<![CDATA[&lt;p&gt;Grey &lt;b&gt;seal&lt;/b&gt;s&lt;/p&gt;]]>",
        "<p>Grey <b>seal</b>s</p>",
        '<h:p xmlns:h="http://www.w3.org/1999/xhtml">Grey <h:b>seal</h:b>s</h:p>',
    ],
)
def test_markup_in_descriptions_is_read(description: str) -> None:
    item = f"<item><link>/1</link><description>{description}</description></item>"

    found = feed(f"<rss><channel><title>T</title><description>{description}</description>{item}</channel></rss>")

    assert [page.about.description for page in found if page.about] == ["Grey seals", "Grey seals"]


def test_description_about_html_is_kept() -> None:
    item = "<item><link>/1</link><description>Write &amp;lt;b&amp;gt; first</description></item>"

    assert feed(f"<rss><channel><title>T</title>{item}</channel></rss>")[1].text == "Write <b> first"


@pytest.mark.parametrize(
    "namespace",
    ["http://backend.userland.com/rss2", "http://backend.userland.com/RSS2", "http://blogs.law.harvard.edu/tech/rss"],
)
def test_rss_elements_in_the_old_namespaces_are_read(namespace: str) -> None:
    item = "<r:item><r:title>Grey seals</r:title><r:link>/1</r:link></r:item>"

    found = feed(f'<r:rss xmlns:r="{namespace}"><r:channel><r:title>T</r:title>{item}</r:channel></r:rss>')

    assert [page.title for page in found] == ["T", "Grey seals"]


@pytest.mark.parametrize(
    "title",
    [
        '<h:div xmlns:h="http://www.w3.org/1999/xhtml">Grey <h:b>seal</h:b>s &lt; <h:i>2</h:i></h:div>',
        '<div xmlns="http://www.w3.org/1999/xhtml">Grey <b>seal</b>s &lt; 2<script>x()</script></div>',
        "<xhtml:div>Grey <xhtml:b>seal</xhtml:b>s &lt; 2<xhtml:script>x()</xhtml:script></xhtml:div>",
    ],
)
def test_atom_xhtml_title_is_read_with_any_prefix(title: str) -> None:
    entry = f'<entry><title type="xhtml">{title}</title><link href="/1"/></entry>'

    found = feed(f'<feed xmlns="http://www.w3.org/2005/Atom"><title type="xhtml">{title}</title>{entry}</feed>')

    assert [page.title for page in found] == ["Grey seals < 2", "Grey seals < 2"]


def test_atom_title_can_be_markup() -> None:
    title = '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Grey <b>seal</b>s</div></title>'
    entry = f'<entry>{title}<link href="/1"/><updated>2024-03-05T10:00:00Z</updated></entry>'

    found = feed(f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Seals</title><link href="/"/>{entry}</feed>')

    assert [page.title for page in found] == ["Seals", "Grey seals"]
    assert found[0].outlinks[0].anchor == "Grey seals"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        *(("ida@a.example (Ida Lund)", "Ida Lund"), ("Ida Lund (editor)", "Ida Lund (editor)")),
        *(("ida@a.example", "ida@a.example"), ("ida@a.example ( )", "ida@a.example ( )")),
    ],
)
def test_rss_author_is_reduced_to_the_name(said: str, name: str) -> None:
    about = feed(f"<rss><channel><item><link>/1</link><author>{said}</author></item></channel></rss>")[1].about

    assert about is not None
    assert about.authors == (Author(name=name),)


def test_rdf_is_a_feed_when_it_has_items() -> None:
    assert [page.url.text for page in feed(RDF, "application/rdf+xml")] == [PLACE.text, "http://c.example/1"]
    assert feed('<rdf:RDF xmlns:rdf="x"><rdf:Description/></rdf:RDF>', "application/rdf+xml") == ()


def test_json_is_a_feed_when_it_says_so() -> None:
    own, one, two = feed(JSON, "application/json")
    assert (own.title, own.text) == ("Notes", "One\nno address")
    assert targets(own, "feed") == [
        "http://a.example/one",
        "http://a.example/two",
        "http://a.example/",
        "http://a.example/feed?page=2",
    ]
    assert (one.text, one.title) == ("if a < b\nthen", "One")
    assert one.about is not None
    assert (one.about.keywords, one.about.authors) == (("x", "y"), (Author(name="Ann", url="http://a.example/ann"),))
    assert one.about.media[0].kind == "video"
    assert (two.text, targets(two, "a")) == ("Two deep", ["http://a.example/deep"])
    assert two.about is not None
    assert two.about.authors == (Author(name="Bob"),)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (SITEMAP, "application/xml"),
        ("<html><body>words</body></html>", "application/rss+xml"),
        ("<doc><title>words</title></doc>", "text/xml"),
        ('{"version": "2", "items": []}', "application/json"),
        ('["https://jsonfeed.org/version/1"]', "application/feed+json"),
        ('{"version": "https://jsonfeed.org/version/1", ' + '"a":[' * 5_000, "application/json"),
        ("", "application/rss+xml"),
    ],
)
def test_non_feed_is_passed_on(body: str, kind: str) -> None:
    assert feed(body, kind) == ()


def test_broken_feed_keeps_its_entries() -> None:
    pages = feed("<rss><channel><title>T</title><item><title>a<b></title><link>http://a.example/1</link></item>")
    assert [page.url.text for page in pages] == [PLACE.text, "http://a.example/1"]
    assert pages[0].doubt.startswith("broken XML")


def test_html_entities_are_decoded_in_feeds() -> None:
    assert feed("<rss><channel><title>Caf&eacute; &ndash; &amp; more</title><item/></channel></rss>")[0].title == (
        "Café – & more"
    )


def test_entries_become_pages_up_to_the_setting() -> None:
    items = "".join(f"<item><title>{number}</title><link>/{number}</link></item>" for number in range(9))
    body = f"<rss><channel><title>T</title>{items}</channel></rss>"
    assert len(feed(body)) == 10
    few = feed(body, "application/xml", "parse.entries=2")
    assert [page.title for page in few] == ["T", "0", "1"]
    assert len(few[0].outlinks) == 9
    assert len(feed(body, "application/xml", "parse.entries=0")) == 1


def test_entries_with_one_url_share_a_page_and_the_feed_url_is_skipped() -> None:
    items = f"<item><link>/1</link></item><item><link>/1</link></item><item><link>{PLACE}</link></item>"
    pages = feed(f"<rss><channel>{items}</channel></rss>")
    assert [page.url.text for page in pages] == [PLACE.text, "http://a.example/1"]
    assert targets(pages[0], "feed") == ["http://a.example/1"]


def test_x_robots_tag_applies_to_entries() -> None:
    parser = FeedParser(Setup(load()))
    pages = parser.parse(content(RSS, robots="noindex, nofollow"))
    assert [(page.noindex, page.nofollow) for page in pages] == [(True, True), (True, True)]


@pytest.mark.parametrize(
    "body",
    [
        "http://127.0.0.1/feed.xml",
        "/etc/passwd",
        "<rss><channel><link>http://127.0.0.1/</link><item><link>//127.0.0.1/</link></item></channel></rss>",
        "<!DOCTYPE rss SYSTEM 'http://127.0.0.1/x.dtd'><rss><channel><title>&x;</title><item/></channel></rss>",
        "<rss><channel><title>a<b></title><item><x:y></item>",
    ],
)
def test_reading_a_feed_opens_no_connection(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: asked.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **more: asked.append(given))
    for page in feed(body):
        assert "root:" not in page.text
    assert asked == []


def test_feeds_are_parsed_within_the_parser_processs_memory() -> None:
    process = ParserProcess(chain)
    try:
        outcomes = [process.parse(content(body, "application/rss+xml")) for body in (RSS, "<rss><channel><item><x:y>")]
    finally:
        process.close()
    assert [len(each.pages) if isinstance(each, Parsed) else each for each in outcomes] == [2, 1]


LAUGHS = "<!DOCTYPE r [<!ENTITY a0 'ha'>" + "".join(
    f"<!ENTITY a{number + 1} '{f'&a{number};' * 10}'>" for number in range(12)
)
FILE = "<!DOCTYPE r [<!ENTITY a12 SYSTEM 'file:///etc/passwd'>"
QUADRATIC = f"<!DOCTYPE r [<!ENTITY a12 '{'x' * 50_000}'>"


@pytest.mark.parametrize("declared", [LAUGHS, FILE, QUADRATIC], ids=["laughs", "file", "quadratic"])
def test_entities_are_never_expanded(declared: str) -> None:
    uses = "&a12;" * 10_000
    body = (
        f"{declared}]><rss><channel><title>&a12;</title><item b='{uses}'><title>{uses}</title></item></channel></rss>"
    )
    assert seconds_of(lambda: feed(body)) < 5
    pages = feed(body)
    assert pages[0].title == "&a12;"
    assert sum(len(page.text) for page in pages) < 2 * len(body)


@settings(deadline=None)
@given(st.sampled_from([RSS, ATOM, JSON]), st.binary(max_size=200), st.integers(0, len(RSS)), st.integers(0, 40))
def test_any_bytes_are_parsed_without_error(whole: str, noise: bytes, place: int, gone: int) -> None:
    data = whole.encode()
    mutated = data[:place] + noise + data[place + gone :]
    kind = "application/feed+json" if whole is JSON else "application/xml"
    for page in PARSER.parse(content(mutated, kind)):
        assert page.media_type == kind


def test_rdf_item_falls_back_to_its_about_attribute() -> None:
    body = RDF.replace("<link>http://c.example/1</link>", "")

    assert [page.url.text for page in feed(body)[1:]] == ["http://c.example/1"]


def test_atom_content_can_have_its_own_base() -> None:
    def entry(outer: str, inner: str) -> Page:
        return feed(
            f'<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.example/x/"><title>t</title>'
            f'<entry{outer}><link href="e"/><title>E</title>'
            f'<content type="html"{inner}>&lt;a href="z"&gt;z&lt;/a&gt;</content></entry></feed>',
            "application/atom+xml",
        )[1]

    assert targets(entry("", ' xml:base="http://d.example/y/"'), "a") == ["http://d.example/y/z"]
    assert entry(' xml:base="http://e.example/"', "").url.text == "http://e.example/e"
    assert targets(entry(' xml:base="http://e.example/f/"', ""), "a") == ["http://e.example/f/z"]
    assert entry("", "").url.text == "http://b.example/x/e"


def test_enclosure_type_falls_back_to_file_extension() -> None:
    about = feed('<rss><channel><item><link>/1</link><enclosure url="/a.mp3?b=c"/></item></channel></rss>')[1].about

    assert about is not None
    assert about.media == (Media(url="http://a.example/a.mp3?b=c", kind="audio", media_type="audio/mpeg"),)
