"""Hosts that are exempt from the guard at one port: what that allows at each of the three checks."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest
from tests.fetch.fakes import FakeResolver
from tests.fetch.hostile import KEEP, ok, serving

from scoter.config import Config, load
from scoter.config.sections.fetch import FetchSettings
from scoter.core.reply import Failed, Fetched, Moved, Reason, Reply, Request
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch.filters import kind_of
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup


def guard(*hosts: str) -> Guard:
    return Guard(Config(fetch=FetchSettings(allow_hosts=hosts)))


def refusal(guard: Guard, text: str) -> Reason | None:
    found = guard.check_url(canonical(text))
    return found.reason if found else None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000/", None),
        ("http://127.0.0.1:8000/any/page", None),
        ("http://2130706433:8000/", None),
        ("http://127.0.0.1/", Reason.REFUSED_ADDRESS),
        ("http://127.0.0.1:8080/", Reason.REFUSED_ADDRESS),
        ("http://127.0.0.2:8000/", Reason.REFUSED_PORT),
        ("http://localhost:8000/", Reason.REFUSED_PORT),
        ("http://example.org:8000/", Reason.REFUSED_PORT),
        ("http://[::1]:8000/", Reason.REFUSED_PORT),
        ("ftp://127.0.0.1:8000/", Reason.REFUSED_SCHEME),
    ],
)
def test_exemption_of_an_address_is_for_that_address_and_port_only(url: str, expected: Reason | None) -> None:
    assert refusal(guard("127.0.0.1:8000"), url) is expected


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:169.254.169.254]", "168.63.129.16"])
def test_address_of_a_metadata_service_is_never_exempt(host: str) -> None:
    allowing = guard(f"{host}:80")

    assert refusal(allowing, f"http://{host}/") is Reason.REFUSED_ADDRESS
    assert allowing.open_socket_check(socket.AF_INET, ("169.254.169.254", 80))
    assert not guard().exemption_for(canonical(f"http://{host}/"))


async def _answers(allowing: Guard, name: str, address: str) -> bool:
    found = await CachingResolver(FakeResolver({name: address}), allowing).resolve(name)
    return not hasattr(found, "refused")


@pytest.mark.parametrize(
    ("entry", "name", "address", "expected"),
    [
        ("localhost:8000", "localhost", "127.0.0.1", True),
        ("localhost:8000", "localhost", "::1", True),
        ("localhost:8000", "localhost", "10.0.0.1", False),
        ("localhost:8000", "localhost", "127.0.0.1 10.0.0.1", False),
        ("localhost:8000", "app.localhost", "127.0.0.1", False),
        ("wiki.corp:80", "wiki.corp", "10.1.2.3", True),
        ("wiki.corp:80", "wiki.corp", "169.254.169.254", False),
        ("wiki.corp:80", "other.corp", "10.1.2.3", False),
        ("nas:80", "nas", "192.168.1.2", True),
        ("router.home.arpa:80", "router.home.arpa", "192.168.1.1", True),
        ("wiki.example.com:80", "wiki.example.com", "10.1.2.3", False),
        ("attacker.example.com:8000", "attacker.example.com", "127.0.0.1", False),
    ],
)
async def test_only_a_name_outside_the_public_dns_may_lead_to_a_private_address(
    entry: str, name: str, address: str, expected: bool
) -> None:
    assert await _answers(guard(entry), name, address) is expected


async def test_socket_is_open_to_the_addresses_that_a_name_has_now_and_at_its_port() -> None:
    allowing = guard("wiki.corp:8000", "localhost:8080")
    resolver = CachingResolver(FakeResolver({"wiki.corp": ["10.1.2.3", "10.1.2.4"]}, ttl=0.0), allowing)

    assert allowing.check_address("10.1.2.3", 8000)
    await resolver.resolve("wiki.corp")
    assert not allowing.check_address("10.1.2.3", 8000)
    assert allowing.check_address("10.1.2.3", 8080)
    assert allowing.check_address("10.1.2.4", 8000)
    assert allowing.check_address("10.1.2.3")

    await resolver.resolve("wiki.corp")
    assert allowing.check_address("10.1.2.3", 8000)
    assert not allowing.check_address("10.1.2.4", 8000)


async def _fetch(config: Config, table: dict[str, str | Sequence[str]], *urls: str) -> list[Reply]:
    shared = Guard(config)
    resolver = CachingResolver(FakeResolver(table, ttl=0.0), shared)
    protocol = HttpProtocol(Setup(config), resolver=resolver, guard=shared)
    try:
        return [await protocol.fetch(Request(url=canonical(url))) for url in urls]
    finally:
        await protocol.close()


async def test_exempt_host_is_fetched_and_nothing_that_it_leads_to_or_that_leads_to_its_address() -> None:
    async with serving({"/": (ok(), KEEP)}) as server, serving({"/": (ok(), KEEP)}) as other:
        config = load(
            overrides=["agent.name=hostile-test", f'fetch.allow_hosts=["localhost:{server.port}"]', "http.timeout=1s"]
        )
        table: dict[str, str | Sequence[str]] = {
            "localhost": "127.0.0.1",
            "rebinding.test": "127.0.0.1",
            "public.example.com": "127.0.0.1",
        }
        own, *others = await _fetch(
            config,
            table,
            f"http://localhost:{server.port}/",
            f"http://localhost:{other.port}/",
            f"http://127.0.0.1:{server.port}/",
            f"http://rebinding.test:{server.port}/",
            "http://rebinding.test/",
            "http://public.example.com/",
            "http://localhost/",
        )

    assert isinstance(own, Fetched)
    assert not isinstance(own, Moved)
    for reply in others:
        assert isinstance(reply, Failed)
        assert kind_of(reply) in ("refused_address", "refused_port")
    assert (server.accepted, other.accepted) == (1, 0)


async def test_exempt_name_behind_a_proxy_is_exempt_at_its_port_only() -> None:
    async with serving({"/": (ok(), KEEP)}) as proxy:
        config = load(
            overrides=[
                "agent.name=hostile-test",
                'fetch.allow_hosts=["wiki.corp:8000"]',
                "http.proxy_host=127.0.0.1",
                f"http.proxy_port={proxy.port}",
                "http.timeout=1s",
            ]
        )
        table: dict[str, str | Sequence[str]] = {"wiki.corp": "10.1.2.3"}
        (other_port,) = await _fetch(config, table, "http://wiki.corp:8080/")

    assert isinstance(other_port, Failed)
    assert kind_of(other_port) == "refused_address"
    assert proxy.accepted == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8000/", "localhost:8000"),
        ("http://localhost/", "localhost:80"),
        ("https://wiki.corp./", "wiki.corp:443"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://10.1.2.3/", "10.1.2.3:80"),
        ("http://8.8.8.8/", ""),
        ("http://example.org/", ""),
        ("http://nobody.example/", ""),
        ("http://example.org:8443/", ""),
        ("http://example.org:3000/", "example.org:3000"),
        ("file:///etc/passwd", ""),
    ],
)
def test_url_needs_an_exemption_if_its_port_or_address_is_unusual(url: str, expected: str) -> None:
    assert guard().exemption_for(canonical(url)) == expected


def test_host_that_is_exempt_already_or_sent_elsewhere_needs_no_entry() -> None:
    moved = Guard(Config(fetch=FetchSettings(connect_to=("*:80=127.0.0.1:8080",))))

    assert not guard("localhost:8000").exemption_for(canonical("http://localhost:8000/a"))
    assert not moved.exemption_for(canonical("http://wiki.corp/"))


@pytest.mark.parametrize("entry", ["localhost:0", "localhost:70000", "..:80"])
def test_entry_that_is_not_a_host_and_a_port_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigError, match="is not a host and a port"):
        guard(entry)
