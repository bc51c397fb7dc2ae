"""Links in the many ways that pages write them."""

from __future__ import annotations

import pytest
from tests.parse.contents import read

from scoter.core.page import Content
from scoter.core.url import canonical
from scoter.parse.html import MOST_LINKS, HtmlOptions, HtmlReader

# Name of the case, markup, and expected links in order: kind and target. The page is http://a.example/dir/page.html.
CASES: list[tuple[str, str, list[str]]] = [
    ("base href", '<base href="/other/"><a href="x">', ["a http://a.example/other/x"]),
    ("base after the link", '<a href="x">1</a><base href="http://b.example/">', ["a http://b.example/x"]),
    ("base elsewhere", '<base href="//b.example/c/d"><a href="?q">', ["a http://b.example/c/d?q"]),
    ("base that is empty", '<base href=""><base href="/no/"><a href="x">', ["a http://a.example/dir/x"]),
    ("base without href", '<base target="_top"><a href="x">', ["a http://a.example/dir/x"]),
    ("white space around", '<a href=" \n /x\t ">', ["a http://a.example/x"]),
    ("white space inside", '<a href="/a b/c&#10;d">', ["a http://a.example/a%20b/cd"]),
    ("entities", '<a href="/x?a=1&amp;b=2&copy=3">', ["a http://a.example/x?a=1&b=2&copy=3"]),
    ("numeric entities", '<a href="&#47;x&#x2F;y">', ["a http://a.example/x/y"]),
    ("entity without semicolon", '<a href="/x?lang=de&lt">', ["a http://a.example/x?lang=de%3C"]),
    ("empty href", '<a href="">self</a>', ["a http://a.example/dir/page.html"]),
    ("href without value", "<a href>none</a>", []),
    ("no href", "<a name=top>x</a>", []),
    ("fragment", '<a href="#top">', ["a http://a.example/dir/page.html"]),
    ("fragment of another", '<a href="/x#y">', ["a http://a.example/x"]),
    ("query alone", '<a href="?page=2">', ["a http://a.example/dir/page.html?page=2"]),
    ("no scheme", '<a href="//b.example/x">', ["a http://b.example/x"]),
    ("dot segments", '<a href="../../.././x/./y">', ["a http://a.example/x/y"]),
    ("unquoted", "<a href=/x>", ["a http://a.example/x"]),
    ("single quotes", "<a href='/x\"y'>", ["a http://a.example/x%22y"]),
    ("capitals", '<A HREF="HTTP://B.EXAMPLE/X">', ["a http://b.example/X"]),
    ("first href counts", '<a href="/1" href="/2">', ["a http://a.example/1"]),
    ("IDN", '<a href="http://bücher.example/">', ["a http://xn--bcher-kva.example/"]),
    ("beyond ASCII", '<a href="/ü?ö">', ["a http://a.example/%C3%BC?%C3%B6"]),
    ("user and password", '<a href="http://me:secret@b.example/">', ["a http://b.example/"]),
    ("backslashes", r'<a href="\\b.example\x\y">', ["a http://b.example/x/y"]),
    ("default port", '<a href="http://b.example:80/x">', ["a http://b.example/x"]),
    ("port", '<a href="http://b.example:8080/">', ["a http://b.example:8080/"]),
    ("port that is none", '<a href="http://b.example:99999/">', []),
    ("no host", '<a href="http://">', []),
    ("mailto, tel, data", '<a href="mailto:a@b.example"><a href="tel:+44"><a href="data:,x">', []),
    ("javascript", '<a href="javascript:go(1)"><a href=" JavaScript:x">', []),
    ("nested a", '<a href="/1">one<a href="/2">two</a>', ["a http://a.example/1", "a http://a.example/2"]),
    ("svg a", '<svg><a href="/1"><text>x</text></a></svg>', ["a http://a.example/1"]),
    ("svg a of old", '<svg><a xlink:href="/1"></a></svg>', ["a http://a.example/1"]),
    ("unclosed tags", '<p><a href="/1">one<p><b><a href="/2">two', ["a http://a.example/1", "a http://a.example/1", "a http://a.example/2"]),
    ("tag cut at the end", '<a href="/1">one</a><a href="/2', ["a http://a.example/1"]),
    ("twice", '<a href="/x">1</a><a href="/x">2</a>', ["a http://a.example/x", "a http://a.example/x"]),
    ("area", '<map><area href="/x" alt="X"></map>', ["area http://a.example/x"]),
    ("ping is none", '<a href="/x" ping="/spy">', ["a http://a.example/x"]),
    ("template", '<template><a href="/x"><img src="/y"></template>', []),
    ("comment", '<!-- <a href="/x"> --><!--[if IE]><a href="/y"><![endif]-->', []),
    ("script text", "<script>document.write('<a href=\"/x\">')</script>", []),
    ("style text", "<style>a { background: url(/x.png) }</style>", []),
    ("textarea", '<textarea><a href="/x"></textarea>', []),
    ("title", '<title><a href="/x"></title>', []),
    ("noscript", '<noscript><a href="/x">x</a><img src="/y"></noscript>', []),
    ("table misnested", '<table><a href="/x">x</a><tr><td>y</table>', ["a http://a.example/x"]),
    ("img", '<img src="/i.png">', ["img http://a.example/i.png"]),
    ("srcset", '<img src="/s.png" srcset="/m.png 640w, /l.png 1280w">', ["img http://a.example/s.png", "img http://a.example/l.png"]),
    ("srcset is src", '<img src="/l.png" srcset="/s.png 1x, /l.png 2x">', ["img http://a.example/l.png"]),
    ("srcset alone", '<img srcset="/s.png, /l.png 1.5x">', ["img http://a.example/l.png"]),
    ("srcset, commas in addresses", '<img srcset="/w,1/s.png 1w,/w,2/l.png 2w">', ["img http://a.example/w,2/l.png"]),
    ("srcset, tight", '<img srcset="/s.png 1x,/l.png 2x">', ["img http://a.example/l.png"]),
    ("srcset, junk", '<img srcset=" , , ">', []),
    (
        "picture",
        '<picture><source srcset="/a.webp 1x, /b.webp 2x"><img src="/c.png"></picture>',
        ["media http://a.example/b.webp", "img http://a.example/c.png"],
    ),
    (
        "video",
        '<video src="/v.mp4" poster="/p.png"><source src="/v.webm"><track src="/v.vtt"></video>',
        ["media http://a.example/v.mp4", "media http://a.example/p.png", "media http://a.example/v.webm", "media http://a.example/v.vtt"],
    ),
    ("audio", '<audio src="/a.mp3"></audio>', ["media http://a.example/a.mp3"]),
    ("embed and object", '<embed src="/e.swf"><object data="/o.pdf"></object>', ["media http://a.example/e.swf", "media http://a.example/o.pdf"]),
    ("iframe and frame", '<iframe src="/f"></iframe>', ["iframe http://a.example/f"]),
    ("frames", '<frameset><frame src="/l"><frame src="/r"></frameset>', ["frame http://a.example/l", "frame http://a.example/r"]),
    ("srcdoc is none", '<iframe srcdoc="<a href=/x>"></iframe>', []),
    ("script src", '<script src="/s.js"></script>', ["script http://a.example/s.js"]),
    ("link", '<link rel="stylesheet" href="/s.css"><link rel=next href="?2">', ["link http://a.example/s.css", "link http://a.example/dir/page.html?2"]),
    ("link that names a host", '<link rel=preconnect href="//c.example"><link rel="dns-prefetch" href="//d">', []),
    ("form", '<form action="/send"><input formaction="/x"></form>', []),
    ("refresh", '<meta http-equiv=refresh content="60; url=/x">', ["refresh http://a.example/x"]),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "links"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_links_are_found_as_in_browsers(markup: str, links: list[str]) -> None:
    assert [f"{link.kind} {link.target}" for link in read(markup).outlinks] == links


def test_form_action_is_a_link_if_configured() -> None:
    page = read('<form action="/send"></form><form method="Post" action="/p">x</form>', HtmlOptions(form_actions=True))

    assert [(link.kind, link.target.path) for link in page.outlinks] == [("form", "/send")]


def test_script_addresses_are_links_if_configured() -> None:
    body = (
        '<script>go("https://b.example/x"); load("/api/list?p=1"); show("text/html")</script>'
        '<script>go("https:\\/\\/b.example\\/y")</script>'
        '<script type="application/json">{"url": "/next/page.html", "url2": "/next/page.html"}</script>'
        '<script src="/s.js"></script><a href="/a">a</a>'
    )

    page = read(body, HtmlOptions(script_links=True))

    assert [(link.kind, link.target.text.removeprefix("http://a.example")) for link in page.outlinks] == [
        ("script", "/s.js"),
        ("a", "/a"),
        ("text", "https://b.example/x"),
        ("text", "/api/list?p=1"),
        ("text", "https://b.example/y"),
        ("text", "/next/page.html"),
    ]
    assert "go" not in page.text


def test_script_addresses_are_limited() -> None:
    script = "".join(f'"/path/{number}",' for number in range(50_000))

    assert len(read(f"<script>{script}</script>", HtmlOptions(script_links=True)).outlinks) == 1_000


def test_element_name_is_stored_even_if_the_kind_differs() -> None:
    page = read('<video src="/v"></video><a href="/a">a</a>', HtmlOptions(element_name="_element"))

    assert [(link.kind, link.extra) for link in page.outlinks] == [
        ("media", {"_element": "video"}),
        ("a", {"_element": "a"}),
    ]


def test_only_an_image_inside_a_link_supplies_its_anchor() -> None:
    page = read(
        '<a href="/1"><picture><img alt="" src="/0.png"><img alt="A seal" src="/s.png"></picture></a>'
        '<a href="/2"></a><img alt="Another" src="/t.png">'
    )

    assert [link.anchor for link in page.outlinks if link.kind == "a"] == ["A seal", ""]


def test_ignored_image_still_supplies_an_anchor() -> None:
    page = read('<a href="/1"><img alt="A seal" src="/s.png"></a>', HtmlOptions(ignored=("img",)))

    assert [(link.target.path, link.anchor) for link in page.outlinks] == [("/1", "A seal")]


def test_doubt_names_too_many_links() -> None:
    page = read("".join(f'<a href="/{number}">' for number in range(MOST_LINKS + 1)))

    assert len(page.outlinks) == MOST_LINKS
    assert page.doubt == "too many links: only the first 10,000 were read"


@pytest.mark.parametrize(
    ("encoding", "href", "target"),
    [
        ("windows-1251", "/поиск?q=тюлень&p=1#конец", "/%D0%BF%D0%BE%D0%B8%D1%81%D0%BA?q=%F2%FE%EB%E5%ED%FC&p=1"),
        ("gbk", "?q=海豹", "/dir/page.html?q=%BA%A3%B1%AA"),
        ("shift_jis", "?q=ソ a%41", "/dir/page.html?q=%83\\%20aA"),
        ("iso-8859-1", "?q=caf&eacute;&amp;x=&#28023;", "/dir/page.html?q=caf%E9&x=%26%2328023%3B"),
        ("utf-8", "?q=é", "/dir/page.html?q=%C3%A9"),
        ("koi8-r", "/путь", "/%D0%BF%D1%83%D1%82%D1%8C"),
    ],
)
def test_query_is_encoded_as_the_page(encoding: str, href: str, target: str) -> None:
    page = read(f'<meta charset={encoding}><a href="{href}">x</a><link rel=canonical href="{href}">'.encode(encoding))

    assert [link.target.target for link in page.outlinks] == [target, target]
    assert page.canonical is not None
    assert page.canonical.target == target


def test_query_is_encoded_as_the_page_in_all_fields() -> None:
    head = '<link rel="canonical" href="/?q=é"><link rel="alternate" hreflang="fr" href="/fr?q=é">'
    body = f'<meta charset="windows-1252">{head}<p>Words, and <a href="/?q=é">a link</a>.'.encode("windows-1252")
    content = Content(url=canonical("http://a.example/dir/page.html"), media_type="text/html", body=body)

    page = HtmlReader(HtmlOptions(metadata=True, main_text=True, markdown=True)).read(content)

    assert page.about is not None
    assert page.outlinks[-1].target.text == "http://a.example/?q=%E9" == page.about.canonical
    assert page.markdown == "Words, and [a link](http://a.example/?q=%E9)."
    assert [each.url.text for each in page.alternates] == ["http://a.example/fr?q=%E9"]
