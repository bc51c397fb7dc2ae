"""A robots.txt that redirects to other domains: each hop uses a slot of its domain, even if workers are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.fetch.hostile import KEEP, Pause, Script, ok, serving
from tests.live.fetching.webs import all_joined, fetch_all, fetchers_for, impolite
from tests.live.odd_web import OddWeb, Said, moved, odd_web, page
from tests.live.service.running import CORE, FETCHER, service

from scoter.core.reply import Fetched

pytestmark = pytest.mark.slow

DELAY = 0.3
COUNT = 10


def answer(host: str, path: str) -> Said:
    """Redirect robots.txt of from7 to by7 and then to to7, which forbids /private."""
    name, number = host.partition(".")[0].rstrip("0123456789"), "".join(filter(str.isdigit, host))
    if path != "/robots.txt":
        return page("<title>It</title>", after=0.04)
    onward = {"from": "by", "by": "to"}.get(name)
    if onward is None:
        return Said(b"User-agent: *\nDisallow: /private", after=0.04)
    return moved(f"http://{onward}{number}.example/robots.txt", after=0.04)


def when_asked(web: OddWeb, host: str, path: str) -> None:
    """Wait until there was a request."""
    until = time.monotonic() + 20
    while (host, path) not in web.asked(host):
        assert time.monotonic() < until, f"{host}{path} was never asked for"
        time.sleep(0.01)


@pytest.mark.parametrize("victim", [CORE, FETCHER])
@pytest.mark.parametrize("seed", [1, 2])
def test_redirected_robots_txt_is_obeyed_while_workers_are_killed(victim: str, seed: int, tmp_path: Path) -> None:
    dice = Random(seed)
    wanted = [f"http://from{n}.example/{what}" for n in range(COUNT) for what in ("open", "private")]
    settings = ("live.processes=2", f"fetch.delay={DELAY}s", "fetch.min_crawl_delay=0s")

    with odd_web(answer) as web, service(tmp_path / "live", web.port, *settings) as live:
        live.wait_for(lambda: len(live.pids(FETCHER)) == 2)
        live.wait_until_ready()
        live.submit(*wanted)
        when_asked(web, f"{dice.choice(['from', 'by', 'to'])}{dice.randrange(COUNT)}.example", "/robots.txt")
        time.sleep(dice.random() * 0.2)
        os.kill(dice.choice(live.pids(victim)), signal.SIGKILL)
        states = Counter((url.rpartition("/")[2], live.record(url)["state"]) for url in wanted)

    assert states == Counter({("open", "ok"): COUNT, ("private", "denied"): COUNT})
    assert impolite(web.entries, DELAY) == []
    assert not [path for _, path in web.asked() if path == "/private"]


async def test_many_redirected_robots_txt_do_not_deadlock(tmp_path: Path) -> None:
    def robots(host: str) -> Script:
        if host.startswith("to"):
            return (ok(), KEEP)
        where = b"http://to%s/robots.txt" % host.encode()
        return (Pause(0.2), b"HTTP/1.1 301 Moved\r\nLocation: " + where + b"\r\nContent-Length: 0\r\n\r\n", KEEP)

    async with (
        serving({"/": (ok(), KEEP)}, robots=robots) as server,
        fetchers_for(server.port, tmp_path, 2, "fetch.threads=10") as fetchers,
    ):
        await all_joined(fetchers, 2)
        async with asyncio.timeout(15):
            answers = await fetch_all(fetchers, [f"http://from{n}.example/" for n in range(80)])

    assert all(isinstance(answer.reply, Fetched) for answer in answers)
