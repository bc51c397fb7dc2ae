"""The guard: URLs, addresses, sockets, and the two settings that allow more."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from scoter.config import Config, Network, PortRange
from scoter.config.sections.fetch import FetchSettings
from scoter.core.reply import Reason
from scoter.core.url import canonical, join
from scoter.errors import ConfigError, UrlError
from scoter.fetch.network.guard import ConnectTo, Guard


def guard(*, networks: tuple[str, ...] = (), rules: tuple[str, ...] = (), ports: tuple[int, ...] = ()) -> Guard:
    allowed = tuple(PortRange(port, port) for port in ports) or FetchSettings().allow_ports
    fetch = FetchSettings(allow_networks=tuple(map(Network, networks)), connect_to=rules, allow_ports=allowed)
    return Guard(Config(fetch=fetch))


def reason(guard: Guard, text: str) -> Reason | None:
    refusal = guard.check_url(canonical(text))
    return refusal.reason if refusal else None


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "0",
        "0x0",
        "127.0.0.1.",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "127.0.0.1%2e",
        "0300.0250.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:0001]",
        "[64:ff9b::7f00:1]",
        "[2002:a9fe:a9fe::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "169.254.169.254",
        "2852039166",
        "168.63.129.16",
        "10.0.0.1",
        "100.64.0.1",
        "user:secret@127.0.0.1",
        "example.org@127.0.0.1",
    ],
)
def test_a_private_address_in_any_notation_is_refused(host: str) -> None:
    assert reason(guard(), f"http://{host}/") is Reason.REFUSED_ADDRESS


@pytest.mark.parametrize("text", ["http://[::1%25lo]/", "http://127.0.0.1\x00.example.com/", "http://4294967297/"])
def test_invalid_address_notations_are_not_urls(text: str) -> None:
    with pytest.raises(UrlError):
        canonical(text)


@pytest.mark.parametrize(
    "text", ["http://example.org/", "https://8.8.8.8/", "http://[2606:4700::1111]/", "http://localhost/"]
)
def test_a_public_address_and_any_name_pass_until_they_are_resolved(text: str) -> None:
    assert reason(guard(), text) is None


def test_the_refusal_says_what_and_why() -> None:
    refusal = guard().check_url(canonical("http://[64:ff9b::7f00:1]/"))

    assert refusal is not None
    assert refusal.detail == "[64:ff9b::7f00:1] is not public: embeds 127.0.0.1 by NAT64"


@pytest.mark.parametrize(
    "text", ["ftp://example.org/", "file:///etc/passwd", "gopher://example.org/1", "ws://example.org/"]
)
def test_a_scheme_without_an_active_protocol_is_refused(text: str) -> None:
    assert reason(guard(), text) is Reason.REFUSED_SCHEME


@pytest.mark.parametrize("href", ["javascript:alert(1)", "data:text/html,x", "mailto:me@example.org"])
def test_url_without_host_is_invalid(href: str) -> None:
    assert join(canonical("http://example.org/"), href) is None


def test_a_rule_may_name_hosts_in_any_script() -> None:
    rule = ConnectTo.read("*.BÜCHER.test:80=127.0.0.1:8080")

    assert rule.matches(canonical("http://www.bücher.test/").host, 80)
    assert not rule.matches(canonical("http://www.bucher.test/").host, 80)


@pytest.mark.parametrize("port", [22, 25, 6379, 9200, 11211, 1, 65535])
def test_a_port_that_is_not_listed_is_refused(port: int) -> None:
    assert reason(guard(), f"http://example.org:{port}/") is Reason.REFUSED_PORT


def test_the_ports_of_the_web_must_be_listed_too() -> None:
    only = guard(ports=(8080,))

    assert reason(only, "http://example.org:8080/") is None
    assert reason(only, "http://example.org/") is Reason.REFUSED_PORT
    assert reason(only, "https://example.org/") is Reason.REFUSED_PORT


def test_the_own_port_of_another_protocol_is_allowed_with_it() -> None:
    with_ftp = Guard(Config(), schemes=("http", "https", "ftp", "file"))

    assert with_ftp.check_url(canonical("ftp://example.org/")) is None
    assert with_ftp.check_url(canonical("file:///srv/pages/")) is None
    refusal = with_ftp.check_url(canonical("ftp://example.org:2121/"))
    assert refusal is not None
    assert refusal.reason is Reason.REFUSED_PORT


def test_an_allowed_network_opens_its_addresses_and_no_others() -> None:
    opened = guard(networks=("127.0.0.0/8", "fd12::/16"))

    assert opened.check_address("127.0.0.1") == ""
    assert opened.check_address("::ffff:127.0.0.1") == ""
    assert opened.check_address("fd12::1") == ""
    assert opened.check_address("10.0.0.1") == "private"
    assert opened.check_address("fd13::1") == "private"
    assert opened.check_address("::1") == "loopback"
    assert opened.check_address("64:ff9b::7f00:1") == "embeds 127.0.0.1 by NAT64"
    assert reason(opened, "http://127.0.0.1/") is None


def test_metadata_service_must_be_listed_by_itself() -> None:
    wide = guard(networks=("0.0.0.0/0", "::/0"))
    named = guard(networks=("169.254.169.254/32",))

    assert wide.check_address("10.0.0.1") == ""
    assert wide.check_address("169.254.169.254") == "metadata service"
    assert wide.check_address("fd00:ec2::254") == "metadata service"
    assert wide.check_address("64:ff9b::a9fe:a9fe")
    assert named.check_address("169.254.169.254") == ""


def test_names_are_sent_where_the_first_matching_rule_says() -> None:
    sent = guard(rules=("a.example:80=127.0.0.1:8001", "*.example:*=127.0.0.2:8002", "*:443=[::1]:8443"))

    assert sent.override("a.example", 80) == ("127.0.0.1", 8001)
    assert sent.override("A.Example.", 80) == ("127.0.0.1", 8001)
    assert sent.override("a.example", 443) == ("127.0.0.2", 8002)
    assert sent.override("b.a.example", 80) == ("127.0.0.2", 8002)
    assert sent.override("other.test", 443) == ("::1", 8443)
    assert sent.override("other.test", 80) is None
    assert sent.override("example", 80) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "8.8.8.8", "[::1]", "[2606:4700::1111]"])
def test_an_address_in_a_url_is_never_sent_elsewhere(host: str) -> None:
    assert guard(rules=("*:*=127.0.0.1:8080",)).override(host, 80) is None


def test_connect_to_target_is_exempt_at_the_socket_only() -> None:
    sent = guard(rules=("*:80=127.0.0.1:8080",))

    assert sent.open_socket_check(socket.AF_INET, ("127.0.0.1", 8080)) == ""
    assert sent.open_socket_check(socket.AF_INET6, ("::ffff:127.0.0.1", 8080, 0, 0)) == ""
    assert sent.open_socket_check(socket.AF_INET, ("127.0.0.1", 8081)) == "loopback"
    assert sent.open_socket_check(socket.AF_INET, ("127.0.0.2", 8080)) == "loopback"
    # neither a URL nor a DNS answer may borrow the exemption
    assert reason(sent, "http://127.0.0.1:8080/") is Reason.REFUSED_ADDRESS
    assert sent.check_address("127.0.0.1") == "loopback"


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_UNIX, (b"/var/run/docker.sock",)),
        (socket.AF_INET, ()),
        (socket.AF_INET, ("example.org", 80)),
        (socket.AF_INET, (b"8.8.8.8", 80)),
    ],
)
def test_a_socket_to_anything_but_an_ip_address_is_refused(family: int, address: tuple[object, ...]) -> None:
    assert guard().open_socket_check(family, address)


def test_a_socket_to_a_public_address_may_be_opened() -> None:
    assert guard().open_socket_check(socket.AF_INET, ("8.8.8.8", 80)) == ""
    assert guard().open_socket_check(socket.AF_INET6, ("2606:4700::1111", 443, 0, 0)) == ""


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("", "does not have the form"),
        ("example.org=127.0.0.1:80", "does not have the form"),
        ("example.org:80=127.0.0.1", "does not have the form"),
        ("a b:80=127.0.0.1:80", "does not have the form"),
        ("example.org:80=::1:80", "does not have the form"),
        ("example.org:80=localhost:80", "'localhost', which is not an IP address"),
        ("example.org:80=[::g]:80", "which is not an IP address"),
        ("10.0.0.1:80=127.0.0.1:80", "only host names can be redirected"),
        ("*bücher.test:80=127.0.0.1:80", "mixes a wildcard"),
        ("example.org:80=127.0.0.1:0", "not between 1 and 65535"),
        ("example.org:80=127.0.0.1:65536", "not between 1 and 65535"),
        ("example.org:70000=127.0.0.1:80", "not between 1 and 65535"),
    ],
)
def test_a_malformed_rule_is_a_configuration_error_that_says_what_is_wrong(rule: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.connect_to") as caught:
        guard(rules=(rule,))

    assert complaint in str(caught.value)
    assert "A rule looks like" in str(caught.value)


@pytest.mark.parametrize("port", ["", "*"])
def test_rule_without_port_applies_to_any_port(port: str) -> None:
    rule = ConnectTo.read(f"example.org:{port}=127.0.0.1:8080")

    assert rule.matches("example.org", 80)
    assert rule.matches("example.org", 65535)


def test_pattern_with_many_stars_is_matched_quickly() -> None:
    rule = ConnectTo.read("*a" * 60 + "b:80=127.0.0.1:8080")

    assert not rule.matches("a" * 250, 80)


def test_safety_page_names_the_settings_and_reasons() -> None:
    page = (Path(__file__).parents[2] / "docs" / "safety.md").read_text("utf-8")

    assert all(name in page for name in ("fetch.allow_networks", "fetch.allow_ports", "fetch.connect_to"))
    assert all(f"`{reason}`" in page for reason in (Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME))
