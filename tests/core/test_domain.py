from __future__ import annotations

import pytest

from scoter.core.domain import is_ip, public_suffix, registered_domain, reversed_host


@pytest.mark.parametrize(
    ("host", "domain", "suffix"),
    [
        ("example.com", "example.com", "com"),
        ("a.b.example.co.uk", "example.co.uk", "co.uk"),
        ("co.uk", "co.uk", "co.uk"),
        ("user.github.io", "user.github.io", "github.io"),
        ("www.city.kawasaki.jp", "city.kawasaki.jp", "kawasaki.jp"),
        ("www.heron.test", "heron.test", "test"),
        ("localhost", "localhost", "localhost"),
        ("xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn", "xn--55qx5d.cn"),
        ("example.com.", "example.com", "com"),
        ("127.0.0.1", "127.0.0.1", ""),
        ("[2001:db8::1]", "[2001:db8::1]", ""),
        ("", "", ""),
    ],
)
def test_registered_domain_follows_the_public_suffix_list(host: str, domain: str, suffix: str) -> None:
    assert registered_domain(host) == domain
    assert public_suffix(host) == suffix


def test_host_is_reversed_by_labels_but_address_is_not() -> None:
    assert reversed_host("www.example.com") == "com,example,www"
    assert reversed_host("10.0.0.1") == "10.0.0.1"
    assert reversed_host("[::1]") == "[::1]"


def test_only_ip_addresses_are_recognised_as_such() -> None:
    assert is_ip("1.2.3.4")
    assert is_ip("[::1]")
    assert not is_ip("1.2.3.4.example")
    assert not is_ip("localhost")
