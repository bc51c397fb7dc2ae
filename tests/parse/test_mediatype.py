"""What the bytes are."""

from __future__ import annotations

import pytest
from tests.parse.contents import URL

from scoter.core.url import canonical
from scoter.parse.mediatype import declared, media_type, received


@pytest.mark.parametrize(
    ("said", "body", "found"),
    [
        ("text/html", b"<p>x", "text/html"),
        ("text/html", b"words", "text/html"),
        ("text/html", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("text/html", b"%PDF-1.4", "application/pdf"),
        ("", b"\n <!DOCTYPE HTML><title>", "text/html"),
        ("", b"\xef\xbb\xbf<html>", "text/html"),
        ("", b"<!-- comment -->", "text/html"),
        ("", b"<bold>", "text/plain"),
        ("", b"words", "text/plain"),
        ("", b"", "text/plain"),
        ("", b"\0\1\2", "application/octet-stream"),
        ("", b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml"),
        ("", b'<?xml version="1.0"?><rss>', "application/xml"),
        ("application/octet-stream", b"<html>", "text/html"),
        ("text/plain", b"<html>", "text/plain"),
        ("text/plain", b"GIF89a...", "image/gif"),
        ("text/plain", b"\0\1\2\3", "application/octet-stream"),
        ("application/pdf", b"<html>", "application/pdf"),
        ("application/json", b"{}", "application/json"),
    ],
)
def test_the_server_is_believed_unless_it_is_vague_or_plainly_wrong(said: str, body: bytes, found: str) -> None:
    assert media_type(said, body) == found


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("", ("", "")),
        ("text/html", ("text/html", "")),
        ("text/html;charset=utf-8", ("text/html", "utf-8")),
        ("text/html; x=y ; Charset = 'Big5'", ("text/html", "Big5")),
        ("nonsense", ("", "")),
        ("; charset=gbk", ("", "gbk")),
        ("application/ld+json; profile=x", ("application/ld+json", "")),
    ],
)
def test_a_content_type_names_a_type_and_a_charset(field: str, found: tuple[str, str]) -> None:
    assert declared(field) == found


def test_a_response_becomes_a_content() -> None:
    headers = (
        ("content-type", "text/html; charset=GBK"),
        ("X-Robots-Tag", "noindex"),
        ("x-robots-tag", "otherbot: nofollow"),
    )

    content = received(canonical(URL), headers, b"<p>", truncated=True)

    assert (content.media_type, content.encoding, content.truncated) == ("text/html", "GBK", True)
    assert content.robots == "noindex\notherbot: nofollow"


def test_without_sniffing_the_server_has_the_last_word() -> None:
    url = canonical(URL)

    assert received(url, (("Content-Type", "text/html"),), b"%PDF-", sniff=False).media_type == "text/html"
    assert received(url, (), b"<html>", sniff=False).media_type == "application/octet-stream"
