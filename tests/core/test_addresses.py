"""Public and other addresses, with cases from the IANA special-purpose registries."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.addresses import METADATA, NOT_AN_ADDRESS, classify, is_metadata, unmapped

SPECIAL = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "private": ["10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1"],
    "link-local": ["169.254.0.1", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0"],
    "carrier-grade NAT": ["100.64.0.1", "100.127.255.255"],
    METADATA: [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    ],
    "this host": ["0.0.0.0", "0.1.2.3"],
    "unspecified": ["::"],
    "protocol assignments": [
        *("192.0.0.1", "192.0.0.9", "2001:1::1", "2001:2::1", "2001:20::1", "2001:1ff:ffff::"),
        "2001:0:808:808:8000:63bf:f7f7:f7f7",  # Teredo, with public addresses
    ],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.5", "2001:db8::1", "3fff::1", "3fff:fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255"],
    "6to4 relay": ["192.88.99.1"],
    "6to4": ["2002:808:808::1", "2002:100::", "2002:df00::ffff"],  # with public addresses
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "reserved": ["240.0.0.1", "255.255.255.254", "4000::1", "fe00::1", "::8.8.8.8", "::ffff:0:8.8.8.8", "200::1"],
    "broadcast": ["255.255.255.255"],
    "AS112 sink": ["192.31.196.1", "192.175.48.1", "2620:4f:8000::1"],
    "multicast tunnelling": ["192.52.193.1"],
    "discard-only": ["100::1"],
    "dummy prefix": ["100:0:0:1::1"],
    "segment routing": ["5f00::1"],
    "site-local": ["fec0::1"],
    "local NAT64": ["64:ff9b:1::8.8.8.8"],
    "embeds 127.0.0.1 by mapping": ["::ffff:127.0.0.1", "::ffff:7f00:1"],
    "embeds 169.254.169.254 by mapping": ["::ffff:169.254.169.254"],
    "embeds 127.0.0.1 by compatibility": ["::127.0.0.1"],
    "embeds 127.0.0.1 by translation": ["::ffff:0:127.0.0.1"],
    "embeds 127.0.0.1 by NAT64": ["64:ff9b::7f00:1", "64:ff9b:1::7f00:1"],
    "embeds 169.254.169.254 by NAT64": ["64:ff9b::a9fe:a9fe"],
    "embeds 127.0.0.1 by 6to4": ["2002:7f00:1::"],
    "embeds 169.254.169.254 by 6to4": ["2002:a9fe:a9fe::"],
    "embeds 127.0.0.1 by Teredo": [
        "2001:0:4136:e378:8000:63bf:80ff:fffe",  # the client
        "2001:0:7f00:1:8000:63bf:f7f7:f7f7",  # the server
    ],
    "embeds 10.0.0.1 by ISATAP": ["2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1"],
    "bound to an interface": ["2606:4700::1111%eth0"],
    NOT_AN_ADDRESS: [
        "",
        "localhost",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "127.0.0.1.",
        "0177.0.0.1",
        "[::1]",
        "1.1.1.1 ",
    ],
}

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2000::",
    "2001:200::1",
    "2606:4700::1111",
    "2620:4f:8001::1",
    "3ffe:ffff::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:ffff:ffff::1",
    "2003::1",
    "2606:4700::5efe:808:808",
]

EMBEDDINGS: dict[str, Callable[[int], int]] = {
    "mapped": lambda four: 0xFFFF << 32 | four,
    "compatible": lambda four: four,
    "translated": lambda four: 0xFFFF << 48 | four,
    "NAT64": lambda four: 0x64FF9B << 96 | four,
    "local NAT64": lambda four: 0x64FF9B0001 << 80 | four,
    "6to4": lambda four: 0x2002 << 112 | four << 80 | 0x1234,
    "Teredo server": lambda four: 0x20010000 << 96 | four << 64 | 0xF7F7F7F7,
    "Teredo client": lambda four: 0x20010000 << 96 | 0x08080808 << 64 | (four ^ 0xFFFFFFFF),
    "ISATAP": lambda four: 0x2606_4700 << 96 | 0x0000_5EFE << 32 | four,
    "ISATAP, universal": lambda four: 0x2606_4700 << 96 | 0x0200_5EFE << 32 | four,
}


@pytest.mark.parametrize(
    ("address", "reason"), [(address, reason) for reason, addresses in SPECIAL.items() for address in addresses]
)
def test_non_public_address_is_reported_with_its_reason(address: str, reason: str) -> None:
    assert classify(address) == reason


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_has_no_reason(address: str) -> None:
    assert classify(address) == ""


@pytest.mark.parametrize("embed", EMBEDDINGS.values(), ids=EMBEDDINGS)
@given(four=st.one_of(st.ip_addresses(v=4), st.sampled_from([ip_address(a) for a in PUBLIC[:17]])))
def test_embedding_a_non_public_ipv4_address_is_not_public(embed: Callable[[int], int], four: IPv4Address) -> None:
    six = IPv6Address(embed(int(four)))

    if classify(four):
        assert classify(six), f"{six} carries {four}"


@pytest.mark.parametrize("name", ["mapped", "NAT64", "ISATAP"])
def test_embedding_a_public_ipv4_address_is_public(name: str) -> None:
    assert classify(IPv6Address(EMBEDDINGS[name](0x08080808))) == ""


@pytest.mark.parametrize("name", ["6to4", "Teredo server", "Teredo client"])
@given(four=st.ip_addresses(v=4))
def test_tunnel_is_never_public_whatever_it_embeds(name: str, four: IPv4Address) -> None:
    assert classify(IPv6Address(EMBEDDINGS[name](int(four))))


@given(st.ip_addresses())
def test_text_and_address_object_are_classified_alike(address: IPv4Address | IPv6Address) -> None:
    assert classify(str(address)) == classify(address)


@given(st.ip_addresses())
def test_private_address_of_the_standard_library_is_never_public(address: IPv4Address | IPv6Address) -> None:
    if address.is_private or address.is_multicast or address.is_link_local or address.is_loopback:
        # The standard library calls all mapped addresses private.
        assert classify(address) or unmapped(address) != address


def test_metadata_services_are_found_in_every_embedding() -> None:
    metadata = int(IPv4Address("169.254.169.254"))

    assert is_metadata(IPv4Address(metadata))
    assert all(is_metadata(IPv6Address(embed(metadata))) for embed in EMBEDDINGS.values())
    assert not is_metadata(ip_address("169.254.169.253"))


def test_mapped_address_is_unmapped() -> None:
    assert unmapped(ip_address("::ffff:10.0.0.1")) == ip_address("10.0.0.1")
    assert unmapped(ip_address("64:ff9b::10.0.0.1")) == ip_address("64:ff9b::10.0.0.1")
