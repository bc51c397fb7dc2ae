"""Documents for the tests of feeds, sitemaps and XML, and parsers to read them with."""

from __future__ import annotations

from collections.abc import Sequence

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.core.url import Url, canonical
from scoter.parse.chain import ParserChain
from scoter.parse.feeds.feed import FeedParser
from scoter.parse.feeds.sitemap import SitemapParser
from scoter.parse.feeds.xml import XmlParser
from scoter.plugins import Setup

PLACE: Url = canonical("http://a.example/dir/file.xml")

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>Birds &amp; seals</title><link>/</link><description>All about &lt;b&gt;birds&lt;/b&gt;</description>
<language>en-gb</language>
<item><title>Eider</title><link>http://a.example/eider</link><pubDate>Sun, 15 Nov 2026 13:00:00 +0100</pubDate>
<description>&lt;p&gt;A duck.&lt;/p&gt;</description><dc:creator>Ann</dc:creator>
<category>ducks</category><category>sea</category>
<content:encoded><![CDATA[<p>The eider is a <a href="/duck">sea duck</a>.</p><p>Soft.</p>]]></content:encoded>
<enclosure url="/eider.mp3" length="9" type="audio/mpeg"/></item>
<item><title>Scoter</title><description>Black, and at sea.</description></item>
</channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="http://b.example/x/">
<title>Vögel</title><subtitle>von der See</subtitle><updated>2026-11-15T12:00:00Z</updated>
<link href="http://b.example/"/><link rel="self" href="feed.atom"/><link rel="next" href="page2"/>
<link rel="alternate" type="text/html" hreflang="en" href="/en/"/>
<entry><title>Eiderente</title><link href="eider"/><id>urn:1</id>
<published>2026-11-14T00:00:00+01:00</published><updated>2026-11-15T00:00:00Z</updated>
<author><name>Bernd</name></author><category term="enten"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Eine <em>Ente</em></p></div></content></entry>
</feed>"""

RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="http://c.example/"><title>Old</title><link>http://c.example/</link></channel>
<item rdf:about="http://c.example/1"><title>One</title><link>http://c.example/1</link><dc:date>2026-01-02</dc:date></item>
</rdf:RDF>"""

JSON = """{"version": "https://jsonfeed.org/version/1.1", "title": "Notes", "home_page_url": "/", "language": "en",
"feed_url": "http://a.example/dir/file.xml", "next_url": "/feed?page=2", "authors": [{"name": "Ann", "url": "/ann"}],
"items": [
{"id": 7, "url": "/one", "title": "One", "content_text": "if a < b\\nthen", "tags": ["x", "y", "x", null],
 "date_published": "2026-11-15T12:00:00+00:00", "attachments": [{"url": "/1.mp4", "mime_type": "video/mp4"}]},
{"id": "http://a.example/two", "content_html": "<p>Two <a href='/deep'>deep</a></p>", "author": {"name": "Bob"}},
{"id": "three", "content_text": "no address"}, "nonsense"]}"""

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
<url><loc> http://a.example/dir/one?x=1&amp;y=2 </loc><lastmod>2026-11-01</lastmod><changefreq>Weekly</changefreq>
<priority>0.8</priority><xhtml:link rel="alternate" hreflang="de" href="http://a.example/dir/de/"/>
<image:image><image:loc>http://img.example/1.png</image:loc></image:image>
<video:video><video:title>loc</video:title><video:content_loc>/v.mp4</video:content_loc></video:video></url>
<url><loc>http://a.example/dir/two</loc><priority>high</priority><lastmod>soon</lastmod></url>
</urlset>"""


def chain() -> ParserChain:
    """The parsers that share XML; a function of a module, so that it can go to another process."""
    setup = Setup(load())
    return ParserChain([("feed", FeedParser(setup)), ("sitemap", SitemapParser(setup)), ("xml", XmlParser(setup))])


def content(body: str | bytes, kind: str = "application/xml", encoding: str = "", robots: str = "") -> Content:
    data = body.encode() if isinstance(body, str) else body
    return Content(url=PLACE, media_type=kind, body=data, encoding=encoding, robots=robots)


def feed(body: str | bytes, kind: str = "application/xml", *settings: str) -> Sequence[Page]:
    return FeedParser(Setup(load(None, {}, settings))).parse(content(body, kind))


def sitemap(body: str | bytes, kind: str = "application/xml") -> Sequence[Page]:
    return SitemapParser(Setup(load())).parse(content(body, kind))


def xml(body: str | bytes, **given: str) -> Sequence[Page]:
    return XmlParser(Setup(load())).parse(content(body, **given))


def targets(page: Page, kind: str) -> list[str]:
    return [link.target.text for link in page.outlinks if link.kind == kind]
