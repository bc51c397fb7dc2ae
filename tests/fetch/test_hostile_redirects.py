"""Redirects that lead nowhere, in circles, or to forbidden addresses."""

from __future__ import annotations

import pytest
from tests.fetch.hostile import KEEP, Script, config_for, fetch_all, serving
from tests.fetch.hostile_cases import STATUS

from scoter.core.reply import Moved, Reply, fetch_status
from scoter.fetch.filters import kind_of

BASE = "http://a.test/from"

#: What a Location says, and where it leads; none: nowhere.
LOCATIONS: dict[str, str | None] = {
    "javascript:alert(1)": None,
    "javascript://a.test/%0aalert(1)": None,
    "data:text/html,hello": None,
    "mailto:a@a.test": None,
    "": None,
    "http://": None,
    "http://[::1": None,
    "http://a b/": None,
    "http://a.test:99999/": None,
    "\\\\\\evil.test\\x": "http://evil.test/x",
    "//other.test/x": "http://other.test/x",
    "?q": "http://a.test/from?q",
    "#part": BASE,
    BASE: BASE,
    "/" + "x" * 60_000: "http://a.test/" + "x" * 60_000,
    "http://user:secret@other.test/": "http://other.test/",
    "HTTP://OTHER.TEST:80/a/../b": "http://other.test/b",
    "caf\xe9": "http://a.test/caf%C3%A9",
}

#: Spellings of places that may not be asked, and the reason for which they are not.
FORBIDDEN: dict[str, str] = {
    "http://127.0.0.1/": "refused_address",
    "http://127.1/": "refused_address",
    "http://2130706433/": "refused_address",
    "http://017700000001/": "refused_address",
    "http://0177.0.0.01/": "refused_address",
    "http://0x7f000001/": "refused_address",
    "http://0x7f.0x0.0x0.0x1/": "refused_address",
    "http://127.0.0.1./": "refused_address",
    "http://%31%32%37.0.0.1/": "refused_address",
    "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11/": "refused_address",
    "http://127\u30020\u30020\u30021/": "refused_address",
    "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/": "refused_address",
    "http://0/": "refused_address",
    "http://0.0.0.0/": "refused_address",
    "http://10.0.0.1/": "refused_address",
    "http://192.168.1/": "refused_address",
    "http://172.16.0.1/": "refused_address",
    "http://100.64.0.1/": "refused_address",
    "http://169.254.169.254/latest/meta-data/": "refused_address",
    "http://[::1]/": "refused_address",
    "http://[::]/": "refused_address",
    "http://[0:0:0:0:0:0:0:1]/": "refused_address",
    "http://[::ffff:127.0.0.1]/": "refused_address",
    "http://[::ffff:7f00:1]/": "refused_address",
    "http://[::127.0.0.1]/": "refused_address",
    "http://[64:ff9b::127.0.0.1]/": "refused_address",
    "http://[64:ff9b::a00:1]/": "refused_address",
    "http://[2002:7f00:1::]/": "refused_address",
    "http://[fe80::1]/": "refused_address",
    "http://[fd00:ec2::254]/": "refused_address",
    "http://224.0.0.1/": "refused_address",
    "http://255.255.255.255/": "refused_address",
    "file:///etc/passwd": "refused_scheme",
    "ftp://10.0.0.1/": "refused_scheme",
    "gopher://a.test/": "refused_scheme",
}


def _redirect(location: str) -> Script:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
    return (head + location.encode("utf-8") + b"\r\n\r\n", KEEP)


async def _moved_to(location: str) -> Reply:
    async with serving({"/from": _redirect(location)}) as server:
        return (await fetch_all(config_for(server.port), [BASE]))[BASE]


@pytest.mark.parametrize("location", LOCATIONS, ids=lambda text: text[:40] or "empty")
async def test_location_resolves_as_in_a_browser(location: str) -> None:
    reply = await _moved_to(location)

    assert isinstance(reply, Moved)
    assert not reply.permanent
    assert (reply.target.text if reply.target else None) == LOCATIONS[location]


async def test_no_location_at_all_leads_nowhere() -> None:
    script = (b"HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", KEEP)
    async with serving({"/from": script}) as server:
        reply = (await fetch_all(config_for(server.port), [BASE]))[BASE]

    assert isinstance(reply, Moved)
    assert reply.target is None
    assert reply.permanent


async def test_private_address_in_any_spelling_is_not_asked() -> None:
    # given redirects to private places, and a rule that sends every name to a server of ours
    scripts = {f"/{number}": _redirect(place) for number, place in enumerate(FORBIDDEN)}
    async with serving(scripts) as server:
        config = config_for(server.port)
        moved = await fetch_all(config, [f"http://a.test/{number}" for number in range(len(FORBIDDEN))])
        targets = {}
        for number, place in enumerate(FORBIDDEN):
            reply = moved[f"http://a.test/{number}"]
            assert isinstance(reply, Moved)
            assert reply.target is not None, place
            targets[reply.target.text] = FORBIDDEN[place]
        accepted = server.accepted

        # when their targets are fetched, and the address of that very server
        own = f"http://127.0.0.1:{server.port}/0"
        replies = await fetch_all(config, {**targets, own: ""})

    # then each is refused by name, and nobody was connected to: rules for names do not hold for addresses
    for target, word in {**targets, own: "refused_address"}.items():
        assert kind_of(replies[target]) == word, target
        assert fetch_status(replies[target]) is STATUS[word]
    assert server.accepted == accepted
