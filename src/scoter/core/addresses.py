"""Which IP addresses belong to the public internet, and why the others do not.

The list follows the IANA special-purpose address registries. ``ipaddress.is_global`` is not enough: it accepts several
addresses that reach internal networks, such as 168.63.129.16 and ``64:ff9b::7f00:1``.

- Every block of the registries is rejected, even the few that are globally reachable: they serve no web pages.
- Of IPv6, only ``2000::/3`` is delegated; everything else is rejected without being listed.
- An IPv6 address that embeds an IPv4 address is rejected if that IPv4 address is.
- 6to4 and Teredo are rejected as a whole, whatever they embed. Both tunnel to whoever runs the next relay, and RFC 7526
  has withdrawn the public relays of 6to4; no web server is reached only in this way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

ADDRESS_CACHE = 65_536
METADATA = "metadata service"
NOT_AN_ADDRESS = "not an IP address"

# Cloud metadata services: they give credentials to any client inside the network.
_METADATA = (
    "169.254.169.254",  # nearly all clouds
    "169.254.170.2",  # AWS, containers
    "169.254.170.23",  # AWS, Kubernetes
    "169.254.0.23",  # Tencent
    "169.254.42.42",  # Scaleway
    "168.63.129.16",  # Azure
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle
    "fd00:ec2::254",  # AWS
    "fd00:ec2::23",  # AWS, Kubernetes
    "fd20:ce::254",  # Google
    "fd00:42::42",  # Scaleway
)

# Networks of one version are disjoint; single addresses inside them are looked up first.
_IPV4 = {
    "0.0.0.0/8": "this host",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "carrier-grade NAT",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.31.196.0/24": "AS112 sink",
    "192.52.193.0/24": "multicast tunnelling",
    "192.88.99.0/24": "6to4 relay",
    "192.168.0.0/16": "private",
    "192.175.48.0/24": "AS112 sink",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_IPV6 = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "64:ff9b:1::/48": "local NAT64",
    "100::/64": "discard-only",
    "100:0:0:1::/64": "dummy prefix",
    "2001::/23": "protocol assignments",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4",
    "2620:4f:8000::/48": "AS112 sink",
    "3fff::/20": "documentation",
    "5f00::/16": "segment routing",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}

_SINGLE = {int(address): METADATA for address in map(ip_address, _METADATA)} | {2**32 - 1: "broadcast"}
_LOW = 2**32 - 1
_MAPPED = 0xFFFF  # RFC 4291 2.5.5.2, the upper 96 bits
_TRANSLATED = 0xFFFF_0000  # RFC 2765 2.1, the upper 96 bits
_NAT64 = 0x0064_FF9B << 64  # RFC 6052 2.1, the upper 96 bits
_NAT64_LOCAL = 0x0064_FF9B_0001  # RFC 8215, the upper 48 bits
_6TO4 = 0x2002  # RFC 3056 2, the upper 16 bits
_TEREDO = 0x2001_0000  # RFC 4380 4, the upper 32 bits
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)  # RFC 5214 6.1, the upper half of the interface identifier

_Table = tuple[tuple[int, ...], tuple[tuple[int, str], ...]]


def _table(networks: Iterable[tuple[str, str]]) -> _Table:
    rows = sorted(
        (int(network.network_address), int(network.broadcast_address), reason)
        for network, reason in ((ip_network(text), reason) for text, reason in networks)
    )
    return tuple(first for first, _, _ in rows), tuple((last, reason) for _, last, reason in rows)


_TABLE4, _TABLE6 = _table(_IPV4.items()), _table(_IPV6.items())


@lru_cache(maxsize=ADDRESS_CACHE)
def classify(address: str | IPv4Address | IPv6Address) -> str:
    """Return why an address is not part of the public internet, or an empty string if it is.

    >>> classify("93.184.215.14"), classify("10.1.2.3"), classify("64:ff9b::7f00:1")
    ('', 'private', 'embeds 127.0.0.1 by NAT64')
    """
    try:
        found = ip_address(address) if isinstance(address, str) else address
    except ValueError:
        return NOT_AN_ADDRESS
    if isinstance(found, IPv4Address):
        return _of_four(int(found))
    # RFC 4007 11: a zone identifies one of our own interfaces, whatever the address.
    return _of_six(int(found)) or ("bound to an interface" if found.scope_id is not None else "")


def unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address of an IPv4-mapped IPv6 address, or the address itself if it is not mapped.

    >>> unmapped(ip_address("::ffff:10.0.0.1"))
    IPv4Address('10.0.0.1')
    """
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def is_metadata(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is, or embeds, the address of a cloud metadata service.

    >>> is_metadata(ip_address("64:ff9b::a9fe:a9fe")), is_metadata(ip_address("169.254.1.1"))
    (True, False)
    """
    value = int(address)
    fours = [four for four, _ in _embedded(value)] if isinstance(address, IPv6Address) else []
    return any(_SINGLE.get(each) == METADATA for each in (value, *fours))


def _of_four(value: int) -> str:
    return _SINGLE.get(value) or _listed(_TABLE4, value)


def _of_six(value: int) -> str:
    for four, how in _embedded(value):
        if _of_four(four):
            return f"embeds {IPv4Address(four)} by {how}"
    if value >> 32 in (_MAPPED, _NAT64):
        return ""  # the embedded address is public, although the block is listed
    listed = (_SINGLE.get(value) if value > _LOW else "") or _listed(_TABLE6, value)
    # RFC 4291 2.4 and the IPv6 address space registry: nothing else is delegated.
    return listed or ("" if value >> 125 == 0b001 else "reserved")


def _embedded(value: int) -> Iterator[tuple[int, str]]:
    """Yield the IPv4 addresses that an IPv6 address embeds, each with the mechanism."""
    low, upper = value & _LOW, value >> 32
    if upper == _MAPPED:
        yield low, "mapping"
    elif upper == 0 and value > 1:  # :: and ::1 embed nothing
        yield low, "compatibility"
    elif upper == _TRANSLATED:
        yield low, "translation"
    elif upper == _NAT64 or value >> 80 == _NAT64_LOCAL:
        yield low, "NAT64"
    elif value >> 112 == _6TO4:
        yield value >> 80 & _LOW, "6to4"
    elif value >> 96 == _TEREDO:
        yield value >> 64 & _LOW, "Teredo"  # the server
        yield low ^ _LOW, "Teredo"  # the client, with its bits inverted
    if upper & _LOW in _ISATAP:
        yield low, "ISATAP"


def _listed(table: _Table, value: int) -> str:
    firsts, rows = table
    place = bisect_right(firsts, value) - 1
    if place < 0:
        return ""
    last, reason = rows[place]
    return reason if value <= last else ""
