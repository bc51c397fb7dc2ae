"""Workers without a core answer direct requests, and a new core takes over politely."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.fetch.hostile import KEEP, ok, serving
from tests.live.fetching.webs import fetch, fetchers_for, impolite
from tests.live.odd_web import MISSING, Said, odd_web, page
from tests.live.service.running import CORE, FETCHER, LOOKUPS, Service, service

from scoter.core.reply import Failed, Fetched, Reason, Request
from scoter.core.url import canonical
from scoter.live.fetching.requests import fetch_directly
from scoter.live.service.plan import ServiceFolder

pytestmark = pytest.mark.slow

_CORE = """
import asyncio, sys
from pathlib import Path
from tests.live.fetching.webs import all_joined, fetch, fetchers_for
async def main():
    async with fetchers_for(int(sys.argv[1]), Path(sys.argv[2]), 2, *sys.argv[3:]) as fetchers:
        await all_joined(fetchers, 2)
        await fetch(fetchers, "http://a.example/1")
        print(*fetchers.pids(), flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


@asynccontextmanager
async def core(port: int, folder: Path, *settings: str) -> AsyncIterator[list[int]]:
    """Run a core in a separate process, kill it, and yield the pids of its workers."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _CORE, str(port), str(folder), *settings, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    pids = [int(word) for word in (await process.stdout.readline()).split()]
    process.kill()
    await process.wait()
    try:
        yield pids
    finally:
        for pid in pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def shards(live: Service) -> list[float]:
    """Return how many shards each worker reports."""
    gauges: dict[str, float] = live.get("/v1/stats").json["gauges"]
    return [count for name, count in gauges.items() if name.startswith("fetcher_shards")]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_direct_requests_work_without_core_until_a_new_one_takes_over(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with (
        serving({f"/{n}": (ok(), KEEP) for n in range(9)}) as server,
        core(server.port, tmp_path, "fetch.delay=1s", "fetch.min_crawl_delay=0s") as pids,
    ):
        names = [f"http://{name}.example/2" for name in "abcdef"]
        direct = await asyncio.gather(*(fetch_directly(tmp_path, Request(url=canonical(name))) for name in names))
        began = loop.time()
        assert all(is_alive(pid) for pid in pids)

        async with fetchers_for(server.port, tmp_path, 1, "fetch.delay=1s", "fetch.min_crawl_delay=0s") as fetchers:
            assert not any(is_alive(pid) for pid in pids)
            answer = await fetch(fetchers, "http://a.example/3")
            took = loop.time() - began

    assert all(isinstance(reply, Fetched) for reply in direct)
    assert isinstance(answer.reply, Fetched)
    assert took > 1.9  # the delay after the old worker's last request, and that after robots.txt


async def test_worker_without_service_answers_direct_requests_politely(tmp_path: Path) -> None:
    def answer(host: str, path: str) -> Said:
        return MISSING if path == "/robots.txt" else page("<title>It</title>")

    with odd_web(answer) as web, service(tmp_path / "live", web.port, "fetch.delay=0.5s", "live.processes=2") as live:
        live.wait_for(lambda: shards(live) == [32, 32])  # what is on its way from one to the other has no holder
        live.submit("http://a.example/1")
        live.record("http://a.example/1")
        fetchers, others = live.pids(FETCHER), [*live.pids(CORE), *live.pids(LOOKUPS), live.process.pid]
        try:
            live.process.send_signal(signal.SIGSTOP)  # lest it starts again what is killed
            for pid in others:
                os.kill(pid, signal.SIGKILL)
            live.process.wait()

            folder, paths = (
                ServiceFolder(tmp_path / "live").run,
                [*(f"a.example/{n}" for n in (2, 3)), "b.example/", "c.example/"],
            )
            asked = (fetch_directly(folder, Request(url=canonical(f"http://{path}"))) for path in paths)
            replies = await asyncio.gather(*asked)
            assert not any(is_alive(pid) for pid in others)
        finally:
            for pid in fetchers:
                if is_alive(pid):
                    os.kill(pid, signal.SIGKILL)

    assert [type(reply) for reply in replies] == [Fetched] * 4, replies
    assert impolite(web.entries, 0.5) == []


async def test_new_core_ends_stopped_workers_of_a_dead_core(tmp_path: Path) -> None:
    async with serving({f"/{n}": (ok(), KEEP) for n in range(9)}) as server, core(server.port, tmp_path) as pids:
        os.kill(pids[0], signal.SIGSTOP)

        async with fetchers_for(server.port, tmp_path, 1) as fetchers:
            assert not any(is_alive(pid) for pid in pids)
            answer = await fetch(fetchers, "http://a.example/3")

    assert isinstance(answer.reply, Fetched)


async def test_direct_request_without_workers_fails(tmp_path: Path) -> None:
    (tmp_path / "fetcher-1.sock").touch()

    reply = await fetch_directly(tmp_path, Request(url=canonical("http://a.example/")))

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.STOPPED
