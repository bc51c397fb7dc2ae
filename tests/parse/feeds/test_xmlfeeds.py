"""The reader of RSS, Atom and RDF feeds: formats, common faults, hostile documents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples, seconds_of
from tests.parse.feeds.documents import ATOM, RDF, RSS

from scoter.core.metadata import Author
from scoter.parse.feeds.entries import LONGEST_LINE, MOST_PER_ENTRY, FeedEntry, FeedFound, Reference
from scoter.parse.feeds.source import DEEPEST, XmlSource
from scoter.parse.feeds.xmlfeeds import read_xml_feed

TRUNCATED = "truncated XML: the end of the feed is missing"


def read(body: str | bytes, most: int = 100) -> FeedFound:
    found = read_xml_feed(XmlSource(body.encode() if isinstance(body, str) else body), most=most)
    assert found is not None
    return found


def rss(inside: str, attributes: str = "") -> FeedFound:
    return read(f'<rss version="2.0"{attributes}><channel><title>T</title>{inside}</channel></rss>')


def item(inside: str, attributes: str = "") -> FeedEntry:
    found = rss(f"<item>{inside}</item>", attributes)
    assert found.doubt == ""
    return found.entries[0]


def test_rss_feed_and_entry_are_read() -> None:
    found = read(RSS)

    assert (found.title, found.home, found.language, found.doubt) == ("Birds & seals", "/", "en-gb", "")
    assert found.description == "All about <b>birds</b>"
    eider, scoter = found.entries
    assert eider == FeedEntry(
        link="http://a.example/eider",
        title="Eider",
        markup='<p>The eider is a <a href="/duck">sea duck</a>.</p><p>Soft.</p>',
        summary="<p>A duck.</p>",
        published=datetime(2026, 11, 15, 12, tzinfo=UTC),
        authors=(Author(name="Ann"),),
        keywords=("ducks", "sea"),
        enclosures=(Reference(href="/eider.mp3", rel="enclosure", media_type="audio/mpeg"),),
    )
    assert scoter == FeedEntry(title="Scoter", summary="Black, and at sea.")


def test_atom_feed_and_entry_are_read() -> None:
    found = read(ATOM)

    assert (found.title, found.description, found.language) == ("Vögel", "von der See", "de")
    assert (found.home, found.base) == ("http://b.example/", "http://b.example/x/")
    assert found.modified == datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert [(each.rel, each.href) for each in found.links] == [
        ("alternate", "http://b.example/"),
        ("self", "feed.atom"),
        ("next", "page2"),
        ("alternate", "/en/"),
    ]
    (entry,) = found.entries
    assert (entry.link, entry.title, entry.authors, entry.keywords) == (
        *("eider", "Eiderente"),
        *((Author(name="Bernd"),), ("enten",)),
    )
    assert entry.markup == '<div xmlns="http://www.w3.org/1999/xhtml"><p>Eine <em>Ente</em></p></div>'
    assert entry.modified == datetime(2026, 11, 15, tzinfo=UTC)


def test_rdf_items_outside_the_channel_are_read() -> None:
    found = read(RDF)

    assert (found.title, found.home, found.doubt) == ("Old", "http://c.example/", "")
    assert [(entry.link, entry.title, entry.published) for entry in found.entries] == [
        ("http://c.example/1", "One", datetime(2026, 1, 2, tzinfo=UTC))
    ]


def test_podcast_fields_are_read() -> None:
    found = rss(
        """<itunes:author>Ann</itunes:author><itunes:image href="/art.jpg"/><image><url>/small.gif</url></image>
        <itunes:category text="Science"><itunes:category text="Nature"/></itunes:category>
        <item><itunes:title>One</itunes:title><itunes:summary>About seals</itunes:summary>
        <itunes:keywords>seals, sea,</itunes:keywords><itunes:duration>1:02:03</itunes:duration>
        <enclosure url="/1.mp3" type="audio/mpeg"/><enclosure url="/1.ogg" type="audio/ogg"/></item>""",
        ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"',
    )

    assert (found.authors, found.image, found.keywords) == ((Author(name="Ann"),), "/art.jpg", ("Science", "Nature"))
    (episode,) = found.entries
    assert (episode.title, episode.summary, episode.keywords) == ("One", "About seals", ("seals", "sea"))
    assert [(each.href, each.seconds) for each in episode.enclosures] == [("/1.mp3", 3723.0), ("/1.ogg", None)]


@pytest.mark.parametrize("prefix", ["media", "m", "MEDIA"])
@pytest.mark.parametrize("namespace", ["http://search.yahoo.com/mrss/", "https://search.yahoo.com/mrss"])
def test_media_rss_is_known_by_its_namespace(prefix: str, namespace: str) -> None:
    entry = item(
        f'<{prefix}:group><{prefix}:title>Seals</{prefix}:title><{prefix}:content url="/v.mp4" type="video/mp4"/>'
        f'<{prefix}:thumbnail url="/i.jpg"/><{prefix}:description>Grey</{prefix}:description></{prefix}:group>',
        f' xmlns:{prefix}="{namespace}"',
    )

    assert (entry.title, entry.image, entry.summary) == ("Seals", "/i.jpg", "Grey")


@pytest.mark.parametrize(("length", "names"), [(200, ["Ann"]), (201, [])])
def test_namespace_of_more_than_200_characters_is_unknown(length: int, names: list[str]) -> None:
    namespace = "http://purl.org/dc/elements/1.1".ljust(length, "/")

    entry = item("<x:creator>Ann</x:creator>", f' xmlns:x="{namespace}"')

    assert [author.name for author in entry.authors] == names


def test_episode_image_comes_before_others() -> None:
    entry = item('<media:thumbnail url="/a.jpg"/><media:thumbnail url="/b.jpg"/><itunes:image href="/art.jpg"/>')

    assert entry.image == "/art.jpg"


def test_undeclared_prefixes_have_their_usual_meaning() -> None:
    entry = item(
        "<dc:creator>Ann</dc:creator><content:encoded>&lt;p&gt;x&lt;/p&gt;</content:encoded>"
        '<media:thumbnail url="/i.jpg"/><atom:link href="/1"/><unknown:title>no</unknown:title>'
    )

    assert (entry.authors, entry.markup, entry.image, entry.link) == ((Author(name="Ann"),), "<p>x</p>", "/i.jpg", "/1")
    assert entry.title == ""


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("<p>A <b>grey</b> seal</p>", "<p>A <b>grey</b> seal</p>"),
        ("<p>A seal<br>and a <img src=x.png> tern", "<p>A seal<br>and a <img src=x.png> tern"),
        ("<p>3 &lt; 4</p>", "<p>3 &lt; 4</p>"),
        ("<b><![CDATA[1 < 2]]></b>", "<b>1 &lt; 2</b>"),
        ("A </b> seal", "A </b> seal"),
        ("1 < 2 & 3", "1 < 2 & 3"),
    ],
)
def test_unescaped_html_is_kept_as_markup(description: str, summary: str) -> None:
    entry = rss(f"<item><description>{description}</description><link>/1</link></item>").entries[0]

    assert (entry.summary, entry.link) == (summary, "/1")


@pytest.mark.parametrize("document", [RSS, ATOM, RDF])
def test_every_truncation_keeps_only_complete_entries(document: str) -> None:
    whole = read(document).entries
    end = "</entry>" if document is ATOM else "</item>"

    for length in range(document.index("<title>") + 20, len(document)):
        found = read(document[:length])
        assert found.entries == whole[: document[:length].count(end)]
        assert found.doubt == TRUNCATED


def test_unclosed_entry_ends_at_the_next_one() -> None:
    found = rss("<item><title>one</title><item><title>two</title></item>")

    assert [entry.title for entry in found.entries] == ["one", "two"]


@pytest.mark.parametrize(
    ("guid", "link"),
    [
        ("<guid>http://a.example/1</guid>", "http://a.example/1"),
        ('<guid isPermaLink="true">http://a.example/1</guid>', "http://a.example/1"),
        ('<guid isPermaLink="false">http://a.example/1</guid>', ""),
        ("<guid ispermalink = ' False '>http://a.example/1</guid>", ""),
        ("<guid>urn:uuid:1</guid>", ""),
        ('<guid isPermaLink="false">http://a.example/1</guid><link>/2</link>', "/2"),
    ],
)
def test_guid_is_the_link_unless_it_is_no_permalink(guid: str, link: str) -> None:
    assert item(guid).link == link


@pytest.mark.parametrize(
    "attributes",
    ['rel="hub" href="/hub"', "rel='hub' href='/hub'", "rel=hub href=/hub", 'hidden rel = "hub" x href= "/hub"'],
)
def test_attributes_are_read_with_any_quotes(attributes: str) -> None:
    assert [(each.rel, each.href) for each in rss(f"<link {attributes}></link>").links] == [("hub", "/hub")]


def test_no_more_entries_are_read_than_asked_for() -> None:
    found = read("<rss><channel>" + "<item><title>x</title></item>" * 9, most=3)

    assert (len(found.entries), found.doubt) == (3, "it has more than 3 entries")


def test_lists_and_lines_of_an_entry_are_limited() -> None:
    many = "".join(f'<category>{n}</category><enclosure url="/{n}"/><dc:creator>{n}</dc:creator>' for n in range(200))
    entry = item(f"<title>{'x' * 5_000}</title>{many}")

    assert len(entry.title) == LONGEST_LINE
    assert [len(each) for each in (entry.keywords, entry.enclosures, entry.authors)] == [MOST_PER_ENTRY] * 3


@pytest.mark.parametrize(
    "body", ["", "<html><title>x</title></html>", "words", "<rdf:RDF><rdf:Description/></rdf:RDF>"]
)
def test_other_documents_are_no_feed(body: str) -> None:
    assert read_xml_feed(XmlSource(body.encode()), most=10) is None


def test_deep_nesting_is_limited() -> None:
    found = rss("<item>" + "<x>" * 100_000 + "<title>deep</title>")

    assert found.doubt == f"more than {DEEPEST} nested elements"


def test_declared_entities_are_not_expanded() -> None:
    declared = "".join(f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(12))
    found = read(f"<!DOCTYPE r [<!ENTITY a0 'ha'>{declared}]><rss><channel><title>&a12;</title><item/></channel></rss>")

    assert found.title == "&a12;"


START = "<rss><channel><title>t</title><item>"


def inside(piece: str) -> Callable[[int], str]:
    return lambda size: START + piece * (size // len(piece))


HOSTILE: dict[str, Callable[[int], str]] = {
    "entity bomb": lambda size: f"<!DOCTYPE r [<!ENTITY a '{'x' * (size // 2)}'>]>{START}<title>{'&a;' * (size // 6)}",
    "doctype": lambda size: "<!DOCTYPE " + "[" * size,
    "no root": lambda size: "< " * (size // 2),
    "nesting": inside("<b>"),
    "end tags in nesting": lambda size: START + "<b>" * 490 + "</c>" * (size // 4),
    "end tags in markup": lambda size: START + "<description>" + "<b>" * 490 + "</c>" * (size // 4),
    "long end tag": lambda size: START + "</" + "a" * size,
    "long start tag": lambda size: START + "<" + "a" * size,
    "huge attribute name": lambda size: START + "<a b=c " + "x" * size + ">",
    "huge attribute value": lambda size: START + "<a b='" + "x" * size + "'>",
    "spaces after attribute": lambda size: START + "<a b=c x" + " " * size + ">",
    "unclosed values": lambda size: START + "<a " + "x=\"'" * (size // 4) + ">",
    "attributes": lambda size: START + "<a " + "x=1 " * (size // 4) + ">",
    "namespaces": lambda size: START + "".join(f"<a xmlns:x{n}='u{n}'/>" for n in range(size // 22)),
    "growing bases": lambda size: START + f"<a xml:base='{'a' * 400}/'>" * (size // 420),
    "unclosed sections": inside("<a><![CDATA["),
    "unclosed comments": inside("<!--"),
    "less-than signs": inside("<"),
    "ampersands": inside("&"),
    "unclosed items": inside("<item>"),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_feed_is_read_in_linear_time(hostile: Callable[[int], str]) -> None:
    body = hostile(200_000).encode()

    assert seconds_of(lambda: read_xml_feed(XmlSource(body), most=1_000)) < 1


PIECES = st.sampled_from(
    [
        *("<rss>", "<channel>", "</channel>", "<feed>", "<rdf:RDF>", "<item>", "</item>", "<entry>", "</entry>"),
        *("<title>", "</title>", "<link>", "<link href='/x' rel=self/>", "<guid isPermaLink='false'>", "<author>"),
        *("<name>", "</name>", "<content type='xhtml'>", "</content>", "<itunes:category text='a'>", "<media:group>"),
        *("<enclosure url='x'/>", "<itunes:duration>1:2:3", "<pubDate>", "<x xml:base='http://['>", "<x xmlns='y'>"),
        *("<x xmlns:dc=''>", "<![CDATA[", "]]>", "<!--", "-->", "<?", "?>", "<!DOCTYPE x [", "&lt;", "&#0;", "&x;"),
        *("<", ">", "</", "/>", "'", '"', "=", " ", ":", "2026-01-01", "\ud800", "\0"),
    ]
)


@settings(max_examples=examples(150), deadline=None)
@given(
    start=st.sampled_from(["", "<rss><channel>", "<feed>", "<rdf:RDF>"]),
    body=st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join),
    noise=st.binary(max_size=20),
)
def test_no_input_makes_the_reader_raise(start: str, body: str, noise: bytes) -> None:
    data = (start + body).encode("utf-8", "surrogatepass") + noise

    found = read_xml_feed(XmlSource(data), most=10)

    assert found is None or len(found.entries) <= 10
