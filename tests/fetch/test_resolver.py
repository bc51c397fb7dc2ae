"""The DNS resolver, against a name server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path

import pytest
import uvloop
from tests.fetch import nameserver as ns
from tests.fetch.nameserver import AAAA, CNAME, A, Nameserver, Record, nameserver

from scoter.config import Config
from scoter.fetch.network import resolver as resolver_module
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import MAX_TTL, MIN_TTL, Answer, CachingResolver, DnsResolver, NotResolved, Resolved


def script(name: str, kind: int, before: int) -> ns.Answer:
    """What the name server of these tests says."""
    four = {
        "plain.test": [Record(name, A, "8.8.8.8", 300)],
        "both.test": [Record(name, A, "8.8.8.8", 300)],
        "half.test": [Record(name, A, "8.8.8.8", 300)],
        "alias.test": [
            Record(name, CNAME, "middle.test", 200),
            Record("middle.test", CNAME, "end.test", 100),
            Record("end.test", A, "8.8.4.4", 300),
        ],
        "short.test": [Record(name, A, "8.8.8.8", 1)],
        "long.test": [Record(name, A, "8.8.8.8", 1_000_000)],
        "many.test": [Record(name, A, f"8.8.{i // 256}.{i % 256}", 300) for i in range(300)],
        "rebound.test": [Record(name, A, "127.0.0.1" if before else "8.8.8.8", 0)],
        "mixed.test": [Record(name, A, "8.8.8.8"), Record(name, A, "10.0.0.1")],
    }
    six = {
        "both.test": [Record(name, AAAA, "2606:4700::1111", 60)],
        "six.test": [Record(name, AAAA, "2606:4700::1111", 300)],
        "alias.test": [Record(name, CNAME, "middle.test", 200)],
    }
    match name:
        case "broken.test":
            return ns.Answer(code=ns.SERVFAIL)
        case "refused.test":
            return ns.Answer(code=ns.REFUSED)
        case "silent.test":
            return ns.Answer(silent=True)
        case "garbled.test":
            return ns.Answer(garbled=True)
        case "half.test" if kind == AAAA:
            return ns.Answer(code=ns.SERVFAIL)
        case "empty.test":
            return ns.Answer()
        case _ if name in four or name in six:
            records = (four if kind == A else six).get(name, [])
            return ns.Answer(tuple(records), truncated=name == "many.test" and kind == A)
        case _:
            return ns.Answer(code=ns.NXDOMAIN)


@asynccontextmanager
async def asking(server: Nameserver, seconds: float = 0.1) -> AsyncIterator[DnsResolver]:
    with closing(DnsResolver([server.address], timeout=timedelta(seconds=seconds), tries=2)) as made:
        yield made


async def look_up(name: str) -> Answer:
    async with nameserver(script) as server, asking(server) as resolver:
        return await resolver.resolve(name)


@pytest.mark.parametrize(
    ("name", "addresses", "ttl"),
    [
        ("plain.test", {"8.8.8.8"}, 300),
        ("PLAIN.test", {"8.8.8.8"}, 300),
        ("plain.test.", {"8.8.8.8"}, 300),
        ("six.test", {"2606:4700::1111"}, 300),
        ("both.test", {"8.8.8.8", "2606:4700::1111"}, 60),  # the shorter life of the two
        ("half.test", {"8.8.8.8"}, 300),  # a failed half does not spoil the other
        ("alias.test", {"8.8.4.4"}, 100),  # an alias has a life of its own
        ("short.test", {"8.8.8.8"}, MIN_TTL),
        ("long.test", {"8.8.8.8"}, MAX_TTL),
    ],
)
async def test_a_name_has_the_addresses_that_the_server_gives(name: str, addresses: set[str], ttl: float) -> None:
    answer = await look_up(name)

    assert isinstance(answer, Resolved)
    assert set(answer.addresses) == addresses
    assert answer.ttl == ttl


async def test_truncated_dns_answer_is_repeated_over_tcp() -> None:
    async with nameserver(script) as server, asking(server) as resolver:
        answer = await resolver.resolve("many.test")

        assert isinstance(answer, Resolved)
        assert len(answer.addresses) == 300
        assert ("many.test", A, "tcp") in server.asked


@pytest.mark.parametrize(
    ("name", "transient"),
    [
        ("missing.test", False),
        ("empty.test", False),
        ("broken.test", True),
        ("refused.test", True),
        ("garbled.test", True),
        ("silent.test", True),
    ],
)
async def test_failure_tells_whether_a_retry_may_help(name: str, transient: bool) -> None:
    answer = await look_up(name)

    assert isinstance(answer, NotResolved)
    assert answer.transient is transient
    assert answer.reason


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64 + ".test", "a b.test", "plain.test\0.b", "é.test", "a" * 300])
async def test_invalid_host_name_is_not_looked_up(name: str) -> None:
    async with nameserver(script) as server, asking(server) as resolver:
        answer = await resolver.resolve(name)

        assert isinstance(answer, NotResolved)
        assert not answer.transient
        assert not server.asked


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST.", "deep.below.localhost"])
async def test_localhost_needs_no_server_and_meets_the_guard(name: str) -> None:
    async with nameserver(script) as server, asking(server) as resolver:
        answer = await CachingResolver(resolver, Guard(Config())).resolve(name)

        assert not server.asked
    assert isinstance(answer, NotResolved)
    assert answer.refused


def hosts() -> dict[str, str]:
    """Return the names, other than those of loopback itself, that this machine's hosts file gives."""
    file = Path("/etc/hosts")
    lines = [line.partition("#")[0].split() for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    return {name: address for address, *names in filter(None, lines) for name in names if "local" not in name}


@pytest.mark.skipif(not hosts(), reason="the hosts file has no names of its own")
async def test_hosts_file_takes_precedence_over_name_servers() -> None:
    name, address = min(hosts().items())

    async with nameserver(script) as server, asking(server) as resolver:
        answer = await resolver.resolve(name)

        assert not server.asked
    assert isinstance(answer, Resolved)
    assert address in answer.addresses


async def test_search_domain_is_not_appended() -> None:
    async with nameserver(script) as server, asking(server) as resolver:
        await resolver.resolve("intranet")

        assert {name for name, _, _ in server.asked} == {"intranet"}


async def test_a_lookup_ends_with_its_limit_even_if_the_servers_would_be_asked_longer() -> None:
    async with nameserver(script) as server:
        patient = DnsResolver([server.address], timeout=timedelta(seconds=30), limit=timedelta(milliseconds=50))
        with closing(patient) as resolver:
            answer = await resolver.resolve("silent.test")

    assert answer == NotResolved("no answer within 0.05 s", transient=True)


async def test_closing_ends_the_lookups_that_are_under_way() -> None:
    async with nameserver(script) as server:
        resolver = DnsResolver([server.address], timeout=timedelta(seconds=30))
        lookup = asyncio.create_task(resolver.resolve("silent.test"))
        await server.was_asked.wait()

        resolver.close()
        answer = await lookup

    assert isinstance(answer, NotResolved)
    assert answer.transient


async def test_many_names_at_once_get_their_own_answers_through_changing_channels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver_module, "CHANNEL_LOOKUPS", 20)

    def numbered(name: str, kind: int, before: int) -> ns.Answer:
        number = name.removesuffix(".test")
        return ns.Answer((Record(name, A, f"8.8.8.{number}"),) if kind == A else ())

    async with nameserver(numbered) as server, asking(server, seconds=30) as resolver:
        answers = await asyncio.gather(*(resolver.resolve(f"{number}.test") for number in range(100)))

    assert answers == [Resolved((f"8.8.8.{number}",), 300) for number in range(100)]


def test_the_resolver_works_on_uvloop() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers = [runner.run(look_up(name)) for name in ("both.test", "silent.test", "many.test")]

    assert [type(answer) for answer in answers] == [Resolved, NotResolved, Resolved]


async def test_rebinding_name_is_refused_at_the_second_lookup() -> None:
    now = 1_000.0
    async with nameserver(script) as server, asking(server) as dns:
        resolver = CachingResolver(dns, Guard(Config()), lambda: now)
        first = await resolver.resolve("rebound.test")
        now += MIN_TTL + 1
        second = await resolver.resolve("rebound.test")

    assert first == Resolved(("8.8.8.8",), MIN_TTL)
    assert second == NotResolved(
        "rebound.test resolves to 127.0.0.1, which is not public: loopback", transient=False, refused=True
    )
