"""Passwords, tokens and cookies: which hosts get them."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pycurl
import pytest
from tests.fetch.http_servers import Handler, get, lines_of, protocol, response, server

from scoter.config import load
from scoter.core.reply import Fetched, Request
from scoter.core.url import canonical
from scoter.errors import RuleError
from scoter.fetch.protocols import http_transport
from scoter.fetch.protocols.credentials import CookieJar, Credential, parse_cookies, parse_credentials
from scoter.fetch.protocols.http import HttpProtocol
from scoter.fetch.protocols.sites import usable_kinds
from scoter.plugins import Setup


async def test_cookies_are_sent_to_their_hosts_only(tmp_path: Path) -> None:
    (tmp_path / "cookies.txt").write_text("# cookies\nexample.com\tlang=en; x=1\n")
    setting = f'agent.host_cookie_file="{tmp_path}/cookies.txt"'
    async with server(lambda head: response()) as (port, heads):
        await get(port, "http://example.com/", setting)
        await get(port, "http://www.example.com/", setting)
        await get(port, "http://example.com/", setting, "http.enable_cookie_header=false")

    assert ["Cookie: lang=en; x=1" in lines_of(head) for head in heads] == [True, False, False]


@pytest.mark.parametrize(("setting", "expected"), [("true", True), ("false", False)])
async def test_cookies_that_servers_set_are_kept_when_wanted(setting: str, expected: bool) -> None:
    async with (
        server(lambda head: response(b"", "Set-Cookie: s=1")) as (port, heads),
        protocol(port, f"http.keep_cookies={setting}") as http,
    ):
        for host in ("a.test", "a.test", "b.test"):
            await http.fetch(Request(url=canonical(f"http://{host}/")))

    assert ["Cookie: s=1" in lines_of(head) for head in heads] == [False, expected, False]


async def test_most_specific_cookie_is_sent_in_one_field(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("a.example.com\tconsent=yes\n")
    settings = (f"agent.host_cookie_file={file}", 'http.headers=["Cookie: all=1"]', "http.keep_cookies=true")
    own = (("cookie", "mine=1"), ("X-A", "1"))
    async with (
        server(lambda head: response(b"ok", "Set-Cookie: id=7")) as (port, heads),
        protocol(port, *settings) as http,
    ):
        for text, more in (("a", ()), ("a", ()), ("a", own), ("b", ()), ("b", ())):
            reply = await http.fetch(Request(url=canonical(f"http://{text}.example.com/"), headers=more))

    cookies = [[line for line in lines_of(head) if line.lower().startswith("cookie")] for head in heads]
    assert cookies == [
        ["Cookie: consent=yes"],
        ["Cookie: id=7; consent=yes"],
        ["Cookie: id=7; mine=1"],
        ["Cookie: all=1"],
        ["Cookie: id=7; all=1"],
    ]
    assert "X-A: 1" in lines_of(heads[2])
    assert isinstance(reply, Fetched)
    assert reply.exchange.request_head == heads[-1].replace(b"id=7; ", b"")


async def test_the_cookies_of_every_answer_count_towards_what_the_jar_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "CookieJar", lambda: CookieJar(most=2))
    async with (
        server(lambda head: response(b"", "Set-Cookie: s=1")) as (port, heads),
        protocol(port, "http.keep_cookies=true") as http,
    ):
        for host in ("a.test", "a.test", "a.test"):
            await http.fetch(Request(url=canonical(f"http://{host}/")))

    assert ["Cookie: s=1" in lines_of(head) for head in heads] == [False, True, False]


def asks_for(kind: str) -> Handler:
    def handler(head: bytes) -> bytes:
        if b"Authorization:" in head and (kind != "Digest" or b"response=" in head):
            return response()
        challenge = 'realm="r", nonce="n", qop="auth"' if kind == "Digest" else 'realm="r"'
        return response(b"", f"WWW-Authenticate: {kind} {challenge}", status="401 Unauthorized")

    return handler


@pytest.mark.parametrize(
    ("line", "kind", "sent"),
    [
        ("example.com basic joe s3cret", "Basic", "Authorization: Basic " + base64.b64encode(b"joe:s3cret").decode()),
        ("*.com bearer t0ken", "Bearer", "Authorization: Bearer t0ken"),
        ("example.com digest joe s3cret", "Digest", 'Authorization: Digest username="joe"'),
        ("example.com basic jö pä", "Basic", "Authorization: Basic " + base64.b64encode("jö:pä".encode()).decode()),
    ],
)
async def test_credentials_are_sent_to_their_hosts_and_kept_out_of_the_archive(
    tmp_path: Path, line: str, kind: str, sent: str
) -> None:
    (tmp_path / "auth.txt").write_text(line + "\n")
    setting = f'http.auth_file="{tmp_path}/auth.txt"'
    async with server(asks_for(kind)) as (port, heads):
        reply = await get(port, "http://example.com/", setting)
        await get(port, "http://example.org/", setting)

    assert isinstance(reply, Fetched)
    assert any(text.startswith(sent) for head in heads for text in lines_of(head))
    assert b"Authorization" not in heads[-1]
    assert b"Authorization" not in reply.exchange.request_head


async def test_a_host_without_credentials_is_asked_after_one_that_has_some_and_gets_none(tmp_path: Path) -> None:
    (tmp_path / "auth.txt").write_text("a.test basic joe s3cret\nb.test bearer t0ken\n")
    async with (
        server(lambda head: response()) as (port, heads),
        protocol(port, f'http.auth_file="{tmp_path}/auth.txt"', "fetch.threads=1") as http,
    ):
        hosts = ("a.test", "c.test", "b.test", "c.test", "a.test", "b.test")
        replies = [await http.fetch(Request(url=canonical(f"http://{host}/"))) for host in hosts]

    assert all(isinstance(reply, Fetched) for reply in replies)
    basic = "Authorization: Basic " + base64.b64encode(b"joe:s3cret").decode()
    sent = [[line for line in lines_of(head) if line.startswith("Authorization")] for head in heads]
    assert sent == [[basic], [], ["Authorization: Bearer t0ken"], [], [basic], ["Authorization: Bearer t0ken"]]


@pytest.mark.parametrize(
    "line",
    [
        "example.com",
        "example.com magic a b",
        "example.com basic joe",
        "example.com bearer",
        "https://example.com basic joe s3cret",
        "example.com:8080 basic joe s3cret",
        "example.com/private basic joe s3cret",
        "joe@example.com basic joe s3cret",
        "a.*.com basic joe s3cret",
    ],
)
def test_invalid_credential_line_is_reported_with_its_number(line: str) -> None:
    with pytest.raises(RuleError, match=r"^auth\.txt:2: "):
        parse_credentials(["# who", line], "auth.txt")


def test_unsupported_authentication_is_reported_at_start(tmp_path: Path) -> None:
    file = tmp_path / "auth.txt"
    file.write_text("example.com ntlm joe s3cret\n")

    with pytest.raises(RuleError, match=r"^auth\.txt:1: this libcurl does not support 'ntlm'"):
        parse_credentials(["example.com ntlm joe s3cret"], "auth.txt", can=("basic",))
    if "ntlm" in usable_kinds():
        HttpProtocol(Setup(load(overrides=["agent.name=testbot", f"http.auth_file={file}"])))
    else:
        with pytest.raises(RuleError, match="does not support 'ntlm'"):
            HttpProtocol(Setup(load(overrides=["agent.name=testbot", f"http.auth_file={file}"])))


@pytest.mark.skipif("ntlm" not in usable_kinds(), reason="this libcurl has no NTLM")
async def test_ntlm_answers_the_challenge_of_a_server(tmp_path: Path) -> None:
    # MS-NLMP 2.2.1.2: no target, NTLM and Unicode, eight bytes to be answered.
    challenge = b"NTLMSSP\0" + struct.pack("<IHHII", 2, 0, 0, 48, 0x8201) + b"01234567" + bytes(8)
    challenge += struct.pack("<HHI", 0, 0, 48)

    def asked(head: bytes) -> bytes:
        said = next((line for line in lines_of(head) if line.startswith("Authorization: NTLM ")), "")
        if not said or base64.b64decode(said[20:])[8] == 1:
            offered = f"NTLM {base64.b64encode(challenge).decode()}" if said else "NTLM"
            return response(b"", f"WWW-Authenticate: {offered}", status="401 Unauthorized")
        return response(b"for joe")

    (tmp_path / "auth.txt").write_text("example.com ntlm WORK\\joe s3cret\n")
    async with server(asked) as (port, _), protocol(port, f"http.auth_file={tmp_path}/auth.txt") as http:
        reply = await http.fetch(Request(url=canonical("http://example.com/")))

    assert isinstance(reply, Fetched)
    assert reply.exchange.body == b"for joe"
    assert b"NTLM" not in reply.exchange.request_head


def test_invalid_cookie_line_is_reported_with_its_number() -> None:
    with pytest.raises(RuleError, match=r"^cookies\.txt:1: "):
        parse_cookies(["example.com lang=en"], "cookies.txt")


def test_hosts_of_credentials_and_cookies_are_found_as_they_stand_in_urls() -> None:
    names = ("BÜCHER.test", "*.müller.test", "[2606:2800:0:0::1]", "2606:2800::2", "192.0.43.8")
    credentials = parse_credentials([f"{name} bearer {name}" for name in names], "auth.txt")
    cookies = parse_cookies([f"{name}\t{name}" for name in names], "cookies.txt")

    for name, text in zip(
        names, ("bücher.test", "www.müller.test", "[2606:2800::1]", "[2606:2800::2]", "192.0.43.8"), strict=True
    ):
        host = canonical(f"http://{text}/").host
        assert (credentials.get(host), cookies.get(host)) == (Credential("bearer", "", name), name)


def test_most_specific_entry_applies_and_no_secret_is_shown() -> None:
    found = parse_credentials(["*.example.com basic wide w", "a.example.com basic own o"], "auth.txt")

    assert found.get("a.example.com") == Credential("basic", "own", "o")
    assert found.get("b.example.com") == Credential("basic", "wide", "w")
    assert found.get("example.com") == Credential("basic", "wide", "w")
    assert found.get("example.org") is None
    assert "'o'" not in repr(found.get("a.example.com"))


def handle_of(jar: CookieJar) -> pycurl.Curl:
    handle = pycurl.Curl()
    for option, value in jar.options:
        handle.setopt(option, value)
    return handle


def test_cookies_are_shared_between_handles_until_the_jar_is_full() -> None:
    jar = CookieJar(most=3)
    one, other = handle_of(jar), handle_of(jar)

    one.setopt(pycurl.COOKIELIST, "Set-Cookie: s=1; domain=a.test")
    jar.note((("set-cookie", "s=1"), ("Server", "x"), ("Set-Cookie", "t=1")))
    assert len(other.getinfo(pycurl.INFO_COOKIELIST)) == 1

    jar.note((("Set-Cookie", "u=1"),))
    assert other.getinfo(pycurl.INFO_COOKIELIST) == []

    other.setopt(pycurl.COOKIELIST, "Set-Cookie: s=2; domain=a.test")
    jar.note((("Set-Cookie", "s=2"),) * 2)
    assert len(one.getinfo(pycurl.INFO_COOKIELIST)) == 1
