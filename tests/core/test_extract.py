from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples, seconds_of

from scoter.core.domain import public_suffix
from scoter.core.extract import LONGEST, urls_in
from scoter.core.url import canonical

CASES = {
    # With a scheme.
    "http://example.com": ["http://example.com"],
    "HTTPS://Example.COM/A": ["HTTPS://Example.COM/A"],
    "http://localhost:8000/x": ["http://localhost:8000/x"],
    "http://192.0.2.7/x and 192.0.2.7/x": ["http://192.0.2.7/x"],
    "http://[2001:db8::1]:8080/x": ["http://[2001:db8::1]:8080/x"],
    "http://me:secret@example.com/": ["http://me:secret@example.com/"],
    "http://example.com?q=1#top": ["http://example.com?q=1#top"],
    "texthttp://example.com/": ["http://example.com/"],
    "http://a.examplehttp://b.example/": ["http://a.example", "http://b.example/"],
    "http://http://example.com/": ["http://example.com/"],
    "https://web.example/web/2020/http://example.com/": ["https://web.example/web/2020/http://example.com/"],
    "http://example.com:99999/": [],
    "http://": [],
    "http://. http://- http:///x": [],
    "http://1.2.3.4.5/": [],
    "http://✪df.ws/x, http://i❤️.ws.": ["http://✪df.ws/x", "http://i❤️.ws"],
    "https://example.com👍 https://a.example👉https://b.example": [
        *("https://example.com", "https://a.example", "https://b.example"),
    ],
    "http://•example.com http://“df.ws": [],
    # Other schemes are ignored.
    "ftp://example.com/file": [],
    "git+https://example.com/repo": [],
    "mailto:example.com javascript:example.com/x": [],
    "//example.com/x": [],
    # Bare names.
    "look at example.com": ["http://example.com"],
    "example.com/path?q#f": ["http://example.com/path?q#f"],
    "example.com:8080/x": ["http://example.com:8080/x"],
    "EXAMPLE.COM": ["http://EXAMPLE.COM"],
    "www.example.co.uk": ["http://www.example.co.uk"],
    "a-b.example.de": ["http://a-b.example.de"],
    "t.co/abc": ["http://t.co/abc"],
    "see:example.com": ["http://example.com"],
    "co.uk com github.io": [],
    "file.txt node.js a.b.c index.html": [],
    "v1.2.3 3.14 10.0.0.1 1.2.3.4:80": [],
    "report.md main.rs run.sh archive.zip self.name": [],
    "docs.rs/serde www.report.md report.md:80": ["http://docs.rs/serde", "http://www.report.md", "http://report.md:80"],
    "e.g. i.e. a.m. U.S.A. a.is": [],
    "the end.It was late": [],
    "Example.Com": ["http://Example.Com"],
    "example..com .example.com -example.com": [],
    "exam_ple.com": [],
    "src/example.com C:\\example.com ~example.com x=example.com #example.com @example.com": [],
    "me@example.com, first.name@example.com": [],
    "me@example.com,example.org": ["http://example.org"],
    "anna.it+news@example.com or anna.it%x=1@example.com": [],
    "example.com/@user example.org?u=me@b.example": ["http://example.com/@user", "http://example.org?u=me@b.example"],
    # The punctuation of the sentence.
    "See http://example.com/a.": ["http://example.com/a"],
    "See http://example.com.": ["http://example.com"],
    "example.com, example.org; example.net!": ["http://example.com", "http://example.org", "http://example.net"],
    "Have you seen http://example.com/a?": ["http://example.com/a"],
    "http://example.com/a?b=c?!": ["http://example.com/a?b=c"],
    "http://example.com/a...": ["http://example.com/a"],
    "http://example.com/a… ": ["http://example.com/a"],
    "http://example.com/a—which is": ["http://example.com/a"],
    "http://example.com/a-": ["http://example.com/a-"],
    "http://example.com/a/": ["http://example.com/a/"],
    "http://example.com/a,b;c:d": ["http://example.com/a,b;c:d"],
    "http://a.example/x,http://b.example/y": ["http://a.example/x", "http://b.example/y"],
    "http://a.example/?u=http://b.example,http://c.example": ["http://a.example/?u=http://b.example,http://c.example"],
    "http://t.co/abc's owner, HTTP://T.CO/DEF'S, (http://t.co/ghi's).": [
        "http://t.co/abc",
        "HTTP://T.CO/DEF",
        "http://t.co/ghi",
    ],
    "http://example.com/it's-here http://example.com/it's/x http://example.com/?q='s": [
        "http://example.com/it's-here",
        "http://example.com/it's/x",
        "http://example.com/?q='s",
    ],
    # Brackets and quotes.
    "https://en.wikipedia.org/wiki/Duck_(bird)": ["https://en.wikipedia.org/wiki/Duck_(bird)"],
    "(https://en.wikipedia.org/wiki/Duck_(bird))": ["https://en.wikipedia.org/wiki/Duck_(bird)"],
    "(see http://example.com/a.)": ["http://example.com/a"],
    "http://example.com/a(see": ["http://example.com/a"],
    "http://example.com/?a[]=1&b[x]=2]": ["http://example.com/?a[]=1&b[x]=2"],
    "<http://example.com/a>": ["http://example.com/a"],
    "<http://example.com/a|example.com/a> b": ["http://example.com/a"],
    "<http://example.com/a?b=c|d e>": ["http://example.com/a?b=c"],
    "http://example.com/a?b=c|d": ["http://example.com/a?b=c|d"],
    '"http://example.com/a" “http://example.com/b” «http://example.com/c»': [
        "http://example.com/a",
        "http://example.com/b",
        "http://example.com/c",
    ],
    "'http://a.example/x','http://b.example/y'": ["http://a.example/x", "http://b.example/y"],
    "`http://example.com/a`": ["http://example.com/a"],
    "http://example.com/a\\nhttp://example.com/b": ["http://example.com/a", "http://example.com/b"],
    # Markdown.
    "[a](http://a.example/x)[b](http://b.example/y_(z))": ["http://a.example/x", "http://b.example/y_(z)"],
    '[a](http://example.com/a "title")': ["http://example.com/a"],
    "[http://example.com](http://example.com)": ["http://example.com"],
    "**http://example.com/a** _http://example.com/b_": ["http://example.com/a", "http://example.com/b"],
    "|http://example.com/a|": ["http://example.com/a"],
    # Chinese, Japanese and Korean text around a URL.
    "请看https://example.com/a详情": ["https://example.com/a"],
    "查看example.com/a。谢谢": ["http://example.com/a"],
    "（http://example.com/a）、http://example.com/b，": ["http://example.com/a", "http://example.com/b"],
    "http://example.com를 보세요": ["http://example.com"],
    "http://例え.jpを見て": ["http://例え.jp"],
    "http://例え.jp/a見て": ["http://例え.jp/a"],
    "http://中国.中国查看": ["http://中国.中国"],
    "見てhttp://a.comとb.comが好き": ["http://a.com", "http://b.com"],
    "例え.jp 中国.中国": ["http://例え.jp", "http://中国.中国"],
    "abc日本.jp": [],
    # Other scripts.
    "http://münchen.de/straße xn--mnchen-3ya.de/x": ["http://münchen.de/straße", "http://xn--mnchen-3ya.de/x"],
    "https://ru.wikipedia.org/wiki/Утки, россия.рф": ["https://ru.wikipedia.org/wiki/Утки", "http://россия.рф"],
    "http://www.coöp.nl/": ["http://www.coöp.nl/"],
    "https://example.com/a\u200bb https://example.com/c😀": ["https://example.com/a", "https://example.com/c"],
    # Several URLs, and duplicates.
    "http://b.example http://a.example HTTP://B.example/": ["http://b.example", "http://a.example"],
    "": [],
    "\ud800 http://example.com/\udfff": ["http://example.com/"],
}


@pytest.mark.parametrize("text", CASES, ids=lambda text: ascii(text)[:60])
def test_urls_are_found_in_running_text(text: str) -> None:
    assert urls_in(text) == CASES[text]


def test_number_of_urls_is_limited() -> None:
    text = " ".join(f"http://example.com/{n}" for n in range(10))

    assert urls_in(text, most=3) == [f"http://example.com/{n}" for n in range(3)]
    assert urls_in(text, most=0) == []


def test_too_long_url_is_skipped() -> None:
    assert urls_in(f"http://a.example/{'x' * LONGEST} http://b.example/") == ["http://b.example/"]


_label = st.text("abcxyz019-", min_size=1, max_size=10).filter(
    lambda label: label[2:4] != "--" and "-" not in (label[0], label[-1])
)
_host = st.builds(
    lambda labels, top: ".".join((*labels, top)), st.lists(_label, min_size=1, max_size=3), st.just("com")
).filter(lambda host: public_suffix(host) != host)  # x0.com is a public suffix, not a site
_port = st.sampled_from(["", ":8080"])
_path = st.lists(st.text("abzAZ019_.~%&=+@-", max_size=12).map("/".__add__), max_size=4).map("".join)
_query = st.just("") | st.text("azAZ09_=&/-", min_size=1, max_size=12).map("?".__add__)
_tail = st.builds(str.__add__, _path, _query).filter(lambda tail: not tail.endswith((".", "_", "~")))
_before = st.sampled_from(
    ["", " ", "\n", "(", "[", "<", '"', "“", "，", "。", "（", "「", "见", "见 ", "[x](", "**", ": ", "…"]
)
_after = st.sampled_from(
    ["", " ", "\n", ")", "]", ">", '"', "”", "，", "。", "）", "」", "详情", ".", ",", "! ", ").", "**", "…"]
)


@given(
    before=_before,
    scheme=st.sampled_from(["http://", "https://", "HTTP://", ""]),
    host=_host,
    rest=st.builds(str.__add__, _port, _tail),
    after=_after,
)
@settings(max_examples=examples(200))
def test_url_between_separators_is_found_exactly(before: str, scheme: str, host: str, rest: str, after: str) -> None:
    expected = (scheme or "http://") + host + rest

    found = urls_in(f"{before}{scheme}{host}{rest}{after}")

    assert found == [expected]


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("htps:/.@()[]?#'例com ")), max_size=200))
@settings(max_examples=examples(200))
def test_found_urls_are_distinct_and_have_a_canonical_form(text: str) -> None:
    found = urls_in(text)

    keys = [canonical(url).text for url in found]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith(("http://", "https://")) for key in keys)
    assert all(url in text or url.removeprefix("http://") in text for url in found)


HOSTILE = [
    *("http://", ".", "a.", "a", "漢", "漢a.", "(", "http://a/(_", "http://a/)", "http://a/,", "http://a/,http://"),
    *(
        "http://a@",
        "a@",
        "a-",
        "http://a.comhttp",
        "http://漢.漢",
        "é.é",
        "a.com漢",
        "http://1.2.3.4.5 ",
        "'http://a/'",
    ),
    *("http://[", "http://a/[({", "ab.is ", "http://" + "a" * 300, "www.", "a.is/"),
]


@pytest.mark.parametrize("piece", HOSTILE, ids=lambda piece: ascii(piece)[:30])
def test_run_time_is_linear_in_the_length_of_the_text(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        return seconds_of(lambda: urls_in(text))

    # Eight times the text takes 8 times as long if linear, 64 times if quadratic. A busy machine can make one
    # measurement many times too long, but not five in a row.
    assert any(seconds(200_000) < seconds(25_000) * 28 + 0.2 for _ in range(5))
