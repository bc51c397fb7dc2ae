"""The jar of cookies: what every handle shares, and that it is bounded."""

from __future__ import annotations

import pycurl

from scoter.fetch.protocols.credentials import CookieJar


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
