"""The core shows the metrics of lookup processes; a key's rate limit applies across all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

import msgspec
from tests.live.api.client import Client
from tests.live.api.fakes import NOW, Bench
from tests.live.memory.access import MemoryKeys
from tests.waiting import until

from scoter.http.access import AccessControl
from scoter.http.asgi import Receive, Scope, Send
from scoter.live.api.lookup_app import LookupApp
from scoter.live.api.metrics import LookupMetrics, MetricsReport, ServiceMetrics
from scoter.live.service.metrics_channel import MetricsReceiver, send_metrics


class Ticks:
    """A clock that moves only when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Group:
    """A core and lookup processes that share keys and exchange their counts."""

    def __init__(self, folder: Path, count: int) -> None:
        self.ticks = Ticks()
        self.keys = MemoryKeys(lambda: NOW)
        self.gates = [AccessControl(self.keys, required=True, clock=self.ticks) for _ in range(1 + count)]
        self.counts = [LookupMetrics(access, self.keys.take_uses) for access in self.gates[1:]]
        self.metrics = ServiceMetrics()
        self.uses: dict[str, datetime] = {}
        self.path = folder / "tally.sock"
        self.hearing = MetricsReceiver(self.path, self.metrics, self.gates[0], self._use)

    def _use(self, uses: Mapping[str, datetime]) -> None:
        self.uses |= uses

    @asynccontextmanager
    async def talking(self) -> AsyncIterator[None]:
        gates = self.gates[1:]
        tasks = [asyncio.create_task(self.hearing.run())]
        tasks += [
            asyncio.create_task(send_metrics(self.path, counts, access, every=0.005))
            for counts, access in zip(self.counts, gates, strict=True)
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def admitted(self, token: str, access: int) -> bool:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        return self.gates[access].admit(headers, "read").refusal is None


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("everything here is a lookup")


async def test_core_shows_metrics_of_lookup_processes(tmp_path: Path) -> None:
    group = Group(tmp_path, 1)
    key, token = await group.keys.create("a client", ("read",))
    bench = Bench()
    await bench.know("http://a.example/")
    app = LookupApp(bench.services.lookup, group.gates[1], nobody, metrics=group.counts[0])
    client = Client(app, bench.document, (("Authorization", f"Bearer {token}"),))

    await client.get("/v1/urls?url=http://a.example/")
    await client.get("/v1/urls?url=http://a.example/")
    await client.post("/v1/urls/lookup", {"urls": ["http://a.example/"]})
    await Client(app, bench.document).get("/v1/urls?url=http://a.example/")
    group.counts[0].refused("not_http")
    async with group.talking():
        await until(lambda: group.metrics.requests.values)

    shown = group.metrics.text().decode()
    assert 'scoter_http_requests_total{route="/v1/urls",status="200"} 2' in shown
    assert 'scoter_http_requests_total{route="/v1/urls/lookup",status="200"} 1' in shown
    assert 'scoter_http_requests_total{route="/v1/urls",status="401"} 1' in shown
    assert 'scoter_http_request_seconds_count{route="/v1/urls"} 3' in shown
    assert 'scoter_connections_refused_total{reason="not_http"} 1' in shown
    assert group.uses == {key.id: NOW}


async def test_requests_are_counted_once(tmp_path: Path) -> None:
    group = Group(tmp_path, 2)
    async with group.talking():
        for counts in group.counts * 3:
            counts.answered("/v1/urls", 200, counts.clock())
            await asyncio.sleep(0.01)
        await until(lambda: group.metrics.requests.values.get(("/v1/urls", "200")) == 6)
        await asyncio.sleep(0.05)

    assert group.metrics.requests.values == {("/v1/urls", "200"): 6}
    assert group.metrics.request_seconds.count("/v1/urls") == 6


async def test_rate_limit_applies_across_processes_on_average(tmp_path: Path) -> None:
    group = Group(tmp_path, 3)
    _, token = await group.keys.create("a busy client", ("read",), rate=10.0)
    async with group.talking():
        # given what each process admits before it hears of the others
        first = sum(group.admitted(token, access) for _ in range(20) for access in range(4))
        await asyncio.sleep(0.1)
        # when the client continues at every process for ten seconds, and all exchange their counts
        later = 0
        for _ in range(100):
            group.ticks.now += 0.1
            later += sum(group.admitted(token, access) for access in range(4))
            await asyncio.sleep(0.02)

    assert first == 40
    assert later <= 10 * 10 + 40  # the rate for ten seconds, and at most one more burst per process
    assert later >= 30


async def test_key_used_in_one_process_gets_its_full_rate(tmp_path: Path) -> None:
    group = Group(tmp_path, 3)
    _, token = await group.keys.create("a client", ("read",), rate=10.0)
    async with group.talking():
        count = 0
        for _ in range(100):
            group.ticks.now += 0.1
            count += group.admitted(token, 2)
            await asyncio.sleep(0.001)

    assert count == 100


async def test_invalid_metrics_reports_are_ignored(tmp_path: Path) -> None:
    group = Group(tmp_path, 1)
    async with group.talking():
        await until(group.path.exists)
        for nonsense in (b"", b"\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x01\xc1", b"\x00\x00\x00\x01\x90"):
            reader, writer = await asyncio.open_unix_connection(str(group.path))
            writer.write(nonsense)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        group.counts[0].answered("/healthz", 200, group.counts[0].clock())
        await until(lambda: group.metrics.requests.values)


async def test_counting_resumes_after_the_core_restarts(tmp_path: Path) -> None:
    group = Group(tmp_path, 1)
    telling = asyncio.create_task(send_metrics(group.path, group.counts[0], group.gates[1], every=0.005))
    group.counts[0].answered("/healthz", 200, group.counts[0].clock())
    await asyncio.sleep(0.02)

    for _ in range(2):
        hearing = asyncio.create_task(group.hearing.run())
        group.metrics.requests.values.clear()
        await asyncio.sleep(0.02)
        group.counts[0].answered("/healthz", 200, group.counts[0].clock())
        await until(lambda: group.metrics.requests.values)
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing
    telling.cancel()


def test_metrics_report_round_trips() -> None:
    tally = MetricsReport(
        requests=[(("/v1/urls", "200"), 3.0)],
        seconds={"/v1/urls": ([1, 2], 0.5)},
        refused=[(("crowded",), 1.0)],
        uses={"k": NOW},
        admitted={"k": 3},
    )

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(tally), type=MetricsReport) == tally
