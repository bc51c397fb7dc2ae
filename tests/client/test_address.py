"""Addresses of a service."""

from __future__ import annotations

import pytest

from scoter.client.address import parse_address
from scoter.errors import UsageError


@pytest.mark.parametrize(
    ("url", "found", "authority"),
    [
        ("http://127.0.0.1:8008", "http://127.0.0.1:8008", "127.0.0.1:8008"),
        ("links.example", "http://links.example", "links.example"),
        ("https://[::1]:9/x/", "https://[::1]:9/x", "[::1]:9"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_address_is_accepted_in_several_forms(url: str, found: str, authority: str) -> None:
    assert (str(parse_address(url)), parse_address(url).authority) == (found, authority)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://a.example",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://u:p@a/",
        "http://a/x y",
        "http://a/?q",
        "http://[::1",
        "http://a\r\nX: y/",
    ],
)
def test_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not the address of a service"):
        parse_address(url)
