"""The HTML reader: text, links, robots directives and refresh."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.contents import URL, content, read

from scoter.core.url import canonical
from scoter.parse.html import LONGEST_ANCHOR, LONGEST_TITLE, MOST_LINKS, HtmlOptions, HtmlReader

TAGS = [
    *(
        "a",
        "b",
        "body",
        "br",
        "div",
        "frameset",
        "head",
        "html",
        "iframe",
        "img",
        "li",
        "math",
        "meta",
        "noscript",
        "p",
    ),
    *("plaintext", "script", "select", "span", "style", "svg", "table", "td", "template", "textarea", "title", "ul"),
]


def targets(body: str, options: HtmlOptions | None = None) -> list[str]:
    return [link.target.text for link in read(body, options).outlinks]


def test_blocks_end_lines_and_text_level_markup_does_not_split_words() -> None:
    page = read("<h1>Grey   seal</h1><p>un<b>real</b>, <i>fast</i></p><div>a<br>b</div>tail<ul><li>1</li><li>2</ul>")

    assert page.text == "Grey seal\nunreal, fast\na\nb\ntail\n1\n2"


def test_unknown_elements_are_blocks() -> None:
    page = read("<x-card>Grey <b>seal</b><y-z><a href=/more>More</a></y-z></x-card>")

    assert (page.text, [link.anchor for link in page.outlinks]) == ("Grey seal\nMore", ["More"])


def test_white_space_is_collapsed() -> None:
    page = read("<p>\n  one \t two\r\n   three&nbsp;&nbsp;four  <b> five</b>\f</p>")

    assert page.text == "one two three four five"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>SECRET</script>",
        "<style>SECRET</style>",
        "<noscript><p>SECRET</p></noscript>",
        "<template><p>SECRET</p></template>",
        "<iframe>SECRET</iframe>",
        "<!-- SECRET -->",
        "<svg><title>SECRET</title></svg>",
        "<b><script>SECRET</script></b>",
    ],
)
def test_invisible_content_is_not_text(hidden: str) -> None:
    page = read(f"<body><p>before</p>{hidden}<p>after</p>")

    assert page.text == "before\nafter"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>un<!-- a note -->real", "unreal"),
        ("<p>Price: <!-- react-text: 5 -->12<!-- /react-text --> pounds", "Price: 12 pounds"),
        ("<p><!--[-->Grey <!----><b>seals</b><!--]--></p>", "Grey seals"),
        ("<p>one<!--a--><!--b-->\n two <!-- c --></p><!-- d -->\n<p>three", "one two\nthree"),
        ('<p>é<!-- é -->é<!-- " -->.', "éé."),
        ("<p>a<!--> b -->c", "a b -->c"),
        ('<p>1<!-- "x" -->0<!-- <b> -->0<!-- it\'s --!>0', "1000"),
        ("<p><b>un</b><!-- a note --><i>real</i>", "unreal"),
        ("<p>un<?php echo 1 ?>re<![CDATA[x]]>al</ x>ly", "unreally"),
        ("<a href=/>Home</a><!-- it's --><!-- x --><span><a href=/a>About<!-- y --></a></span>", "Home About"),
        ("<a href=/>Home<b><!-- it's --></b></a><a href=/a>About</a>", "Home About"),
        ("<textarea><!-- x -->1</textarea><xmp><!-- y -->2</xmp>", "<!-- x -->1\n<!-- y -->2"),
    ],
)
def test_comment_does_not_split_text(body: str, text: str) -> None:
    assert read(body).text == text


def test_empty_comments_do_not_split_words() -> None:
    assert read("<p>Page <!-- -->3<!-- --> of 9</p>").text == "Page 3 of 9"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<nav><a href=/>Home</a><a href=/a>About</a><a href=/b>Us</a></nav>", "Home About Us"),
        ("<NAV><A href=/>Home</A><A href=/a>About</A></NAV>", "Home About"),
        ("<a href=/><b>Home</b></a><a href=/a><b>About</b></a>", "Home About"),
        ("<h1><a href=/>Home</a><a href=/a>About</a></h1>", "Home About"),
        ("<table><tr><td>1<td><a href=/>2</a><td><b>3</b></table>", "1\n2\n3"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><th>3</th><td>4</td></tr></table>", "1\n2\n3\n4"),
        ("<button>Buy</button><button>Sell</button><select><option>a</option><option>b</option></select>", None),
        ("<a href=/x>W</a><a href=/x>ord</a> <b>W</b>ord <a href=/y>un</a>real", "Word Word unreal"),
        ("<a name=x></a><a href=/y>un</a>real, <a href=/1>1</a>,<a href=/2>2</a>", "unreal, 1,2"),
        ("<span><a href=/>Home</a></span><span><a href=/a>About</a></span>", "Home About"),
        ("<a href=/>Home</a><span><b><a href=/a>About</a></b></span><a href=/b>Us</a>", "Home About Us"),
        ("<i><span><a href=/>Home</a></span></i><a href=/a><span>About</span></a>", "Home About"),
        ("<a href=/>Home</a><i class=icon></i><b><u></u></b><a href=/a>About</a>", "Home About"),
        (
            "<b>H</b>ome <span>foo</span><span>bar</span> <b><a href=/x>W</a></b><i><a href=/x>ord</a></i>",
            "Home foobar Word",
        ),
        ("<span><a href=/x>un</a></span>real <span>un</span><a href=/x>real</a>", "unreal unreal"),
        ("<span><a href=/1>1</a>,</span><span><a href=/2>2</a></span>(<a href=/3>3</a>)", "1,2(3)"),
        ("<unknown><a href=/>Home</a></unknown><a href=/a>About</a>", "Home\nAbout"),
    ],
)
def test_adjacent_links_and_cells_are_separate_words(page: str, text: str | None) -> None:
    assert read(page).text == (text or "Buy\nSell\na\nb")


def test_anchor_texts_of_adjacent_links_are_their_own() -> None:
    found = read("<a href=/>Home</a><a href=/a>About</a>")

    assert [link.anchor for link in found.outlinks] == ["Home", "About"]


def test_configured_line_separator_ends_a_line() -> None:
    assert read("<p>a<span>b</span>c", HtmlOptions(line_separators=("span",))).text == "a\nb\nc"


def test_first_title_outside_svg_is_used() -> None:
    page = read("<svg><title>icon</title></svg><title>\n Grey\n  seals </title><title>other</title>")

    assert page.title == "Grey seals"


def test_title_is_truncated() -> None:
    assert len(read("<title>" + "x" * 100_000).title) == LONGEST_TITLE


def test_links_of_all_elements_are_in_page_order() -> None:
    page = read(
        '<link rel="Alternate" href="/feed"><script src="/s.js"></script><a href="b">B</a><img src="/i.png" alt="I">'
        '<map><area href="/area" alt="Area"></map><iframe src="/f" title="Frame"></iframe><form action="/send"></form>'
    )

    found = [(link.target.text.removeprefix("http://a.example"), link.anchor, link.rel) for link in page.outlinks]
    assert found == [
        ("/feed", "", "alternate"),
        ("/s.js", "", ""),
        ("/dir/b", "B", ""),
        ("/i.png", "I", ""),
        ("/area", "Area", ""),
        ("/f", "Frame", ""),
    ]


def test_frames_are_links() -> None:
    assert targets('<frameset><frame src="/left"><frame src="/right"></frameset>') == [
        "http://a.example/left",
        "http://a.example/right",
    ]


def test_form_actions_and_ignored_elements_are_configurable() -> None:
    body = '<a href="/a">a</a><img src="/i.png"><form action="/send"></form>'

    assert targets(body, HtmlOptions(form_actions=True, ignored=("img", "a"))) == ["http://a.example/send"]


def test_element_name_is_stored_if_configured() -> None:
    page = read('<a href="/a">a</a><img src="/i.png">', HtmlOptions(element_name="_element"))

    assert [link.extra for link in page.outlinks] == [{"_element": "a"}, {"_element": "img"}]


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("/x?a=1&amp;b=2", "http://a.example/x?a=1&b=2"),
        ("  /x\n", "http://a.example/x"),
        ("", "http://a.example/dir/page.html"),
        ("#top", "http://a.example/dir/page.html"),
        ("?q", "http://a.example/dir/page.html?q"),
        ("//b.example/x", "http://b.example/x"),
        ("../x", "http://a.example/x"),
        ("HTTPS://B.example", "https://b.example/"),
        ("ünï", "http://a.example/dir/%C3%BCn%C3%AF"),
        ("/a b", "http://a.example/a%20b"),
        ("javascript:void(0)", None),
        ("mailto:me@a.example", None),
        ("http://", None),
        ("data:text/plain,x", None),
    ],
)
def test_links_resolve_as_in_browsers(href: str, target: str | None) -> None:
    assert targets(f'<a href="{href}">x</a>') == ([target] if target else [])


def test_link_without_target_is_dropped() -> None:
    assert targets("<a>x</a><a name=y>z</a><img><iframe></iframe>") == []


def test_links_in_noscript_templates_comments_and_scripts_are_ignored() -> None:
    body = (
        '<noscript><a href="/1">one</a></noscript><template><a href="/2">2</a></template><!--<a href="/3">3</a>-->'
        "<script>'<a href=\"/4\">'</script>"
    )

    assert read(body).outlinks == ()


def test_links_are_relative_to_the_first_base_with_href() -> None:
    page = read('<base target=_top><base href="/other/"><base href="/third/"><a href="x">x</a>')

    assert page.base == canonical("http://a.example/other/")
    assert page.outlinks[0].target.text == "http://a.example/other/x"


def test_base_inside_svg_is_ignored() -> None:
    markup = '<svg><base xlink:href="/no/"></base></svg><base href="/b/"><meta property="og:image" content="i.png">'

    page = read(markup, HtmlOptions(metadata=True))

    assert page.base == canonical("http://a.example/b/")
    assert page.about is not None
    assert page.about.image is not None
    assert page.about.image.url == "http://a.example/b/i.png"


def test_invalid_base_is_ignored() -> None:
    page = read('<base href="http://"><a href="x">x</a>')

    assert page.base is None
    assert page.outlinks[0].target.text == "http://a.example/dir/x"


def test_cached_links_resolve_like_uncached_ones() -> None:
    reader = HtmlReader()
    hrefs = ["/x", "//b.example/y", "https://c.example/", "z", "?q", "/x"]
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs)

    first = [link.target for link in reader.read(content(body)).outlinks]
    again = [link.target for link in reader.read(content(body)).outlinks]

    assert first == again == [link.target for link in read(body).outlinks]


def test_anchor_is_the_link_text_or_the_label_of_its_image() -> None:
    page = read(
        '<a href="/1"> Grey\n <b>se</b>al </a><a href="/2"><img alt="A seal" src="/s.png"></a><a href="/3"><i></i></a>'
        '<a href="/4">x<script>SECRET</script></a>'
    )

    assert [link.anchor for link in page.outlinks if "png" not in link.target.text] == ["Grey seal", "A seal", "", "x"]


def test_ruby_annotations_stay_in_their_line() -> None:
    page = read("<p>北の<ruby>海<rp>(</rp><rt>うみ</rt><rp>)</rp>豹<rp>(</rp><rt>ひょう</rt><rp>)</rp></ruby>は泳ぐ。")

    assert page.text == "北の海(うみ)豹(ひょう)は泳ぐ。"


@pytest.mark.parametrize(
    ("inside", "anchor"),
    [
        *(("Grey<br>seal", "Grey seal"), ("<h3>Grey seal</h3>large", "Grey seal large")),
        *(
            ("<div><div>Grey seal</div><div>2 m</div></div>", "Grey seal 2 m"),
            ("un<b>real</b><wbr>istic", "unrealistic"),
        ),
        *(("<div><br></div>", ""), ("<span>Grey</span> <i>se<u>al</u></i><script>x</script>", "Grey seal")),
    ],
)
def test_anchor_words_are_separated_as_in_the_text(inside: str, anchor: str) -> None:
    page = read(f'<a href="/x">{inside}</a>')

    assert page.outlinks[0].anchor == anchor == page.text.replace("\n", " ")


def test_anchor_is_truncated() -> None:
    assert len(read(f'<a href="/x">{"y" * 9_999}</a>').outlinks[0].anchor) == LONGEST_ANCHOR


def test_number_of_links_is_limited() -> None:
    page = read("".join(f'<a href="/{number}">' for number in range(MOST_LINKS + 5)))

    assert len(page.outlinks) == MOST_LINKS
    assert page.outlinks[0].target.text == "http://a.example/0"


def test_rel_is_stored_with_the_link() -> None:
    assert read('<a rel="NoFollow ugc" href="/x">x</a>').outlinks[0].rel == "nofollow ugc"


def test_canonical_link_is_relative_to_the_base() -> None:
    page = read('<base href="/b/"><link rel="Canonical" href="c"><link rel=canonical href="d">')

    assert page.canonical == canonical("http://a.example/b/c")


def test_empty_canonical_link_is_ignored() -> None:
    page = read('<link rel=canonical><link rel=canonical href=""><link rel=canonical href="/c">')

    assert page.canonical == canonical("http://a.example/c")


def test_rel_canonical_on_an_anchor_is_ignored() -> None:
    assert read('<a rel=canonical href="/c">c</a>').canonical is None


@pytest.mark.parametrize(
    ("body", "noindex", "nofollow", "noarchive"),
    [
        ('<meta name="ROBOTS" content="NOINDEX, NoFollow">', True, True, False),
        ('<meta name=robots content="none">', True, True, False),
        ('<meta name=robots content="all">', False, False, False),
        ('<meta name=robots content="noindex"><meta name=robots content="nofollow,noarchive">', True, True, True),
        ('<meta name=otherbot content="noindex">', False, False, False),
        ('<meta name=examplebot content="noindex">', True, False, False),
    ],
)
def test_robots_meta_is_read(body: str, noindex: bool, nofollow: bool, noarchive: bool) -> None:
    page = read(body, HtmlOptions(agents=("examplebot",)))

    assert (page.noindex, page.nofollow, page.noarchive) == (noindex, nofollow, noarchive)


def test_robots_header_adds_to_the_meta_elements() -> None:
    page = read('<meta name=robots content="noindex">', robots="nofollow\notherbot: noarchive")

    assert (page.noindex, page.nofollow, page.noarchive) == (True, True, False)


def test_quick_refresh_is_a_redirect_and_slow_refresh_a_link() -> None:
    soon = read('<meta http-equiv="Refresh" content="0; url=/there">')
    later = read('<meta http-equiv=refresh content="30;URL=/there">')

    assert soon.refresh is not None
    assert soon.refresh.is_redirect
    assert soon.refresh.target == canonical("http://a.example/there")
    assert soon.outlinks == ()
    assert later.refresh is not None
    assert not later.refresh.is_redirect
    assert [link.target.text for link in later.outlinks] == ["http://a.example/there"]


def test_refresh_with_a_name_attribute_counts() -> None:
    page = read('<meta name="redirect" http-equiv="refresh" content="0; url=/there">')

    assert page.refresh is not None
    assert page.refresh.target == canonical("http://a.example/there")
    assert page.metas == {"redirect": ("0; url=/there",)}


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff\xfe", b"<", b"%PDF-1.7 \x00\x01", bytes(range(256)) * 20])
def test_any_body_gives_a_page(body: bytes) -> None:
    page = read(body)

    assert page.url == canonical(URL)


@given(st.binary(max_size=2_000))
@settings(max_examples=examples(60), deadline=None)
def test_reader_accepts_any_bytes(body: bytes) -> None:
    read(body).text.encode()


@given(st.lists(st.one_of(st.sampled_from(TAGS), st.sampled_from(["/" + tag for tag in TAGS]), st.text(max_size=5))))
@settings(max_examples=examples(80), deadline=None)
def test_nesting_never_exposes_scripts_or_uncanonical_targets(pieces: list[str]) -> None:
    body = "<script>SECRET</script>" + "".join(
        f'<{piece} href="/x" src="?{number}">' if piece.strip("/") in TAGS else piece
        for number, piece in enumerate(pieces)
    )

    page = read(body.encode("utf-8", "replace"))

    assert "SECRET" not in page.text
    assert "\x1e" not in page.text
    assert all(canonical(link.target.text) == link.target for link in page.outlinks)
    assert page.text == "\n".join(" ".join(line.split(" ")) for line in page.text.split("\n"))
