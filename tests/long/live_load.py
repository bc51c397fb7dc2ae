"""Everything that clients do with a live service, all at once, with checks of every response."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from random import Random
from typing import Literal, TypeAlias

from scoter.client import AsyncClient, ClientError, Event, Missing, UrlRecord

DELAY = 0.3
RATE = 25  # messages per second
HOOK = "http://hooks.example/outcomes"
WAIT = 20.0
WAITING = 100  # concurrent waits: 2 per second, for up to 20 s each
_RECENT = 2_000  # URLs that may be repeated
_ODD_SHARE = 0.02  # of all URLs: on slow or broken hosts

# Requests that must be refused, with their status.
BAD_REQUESTS = (
    ("POST /v1/messages", '{"text": ', 400),
    ("POST /v1/messages", '{"txt": "http://a.example/"}', 422),
    ("POST /v1/messages", '{"urls": ["http://a.example/"], "callback": "http://127.0.0.1/"}', 422),
    ("POST /v1/messages", '{"urls": ["http://a.example/"], "callback": "ftp://a.example/"}', 422),
    ("POST /v1/fetch", '{"url": "http://a.example/", "hops": 99}', 422),
    ("POST /v1/urls/lookup", '{"urls": []}', 422),
    ("GET /v1/urls?url=%FF", "", 400),
    ("GET /v1/urls?url=http://nobody-said.example/", "", 404),
    ("GET /v1/nothing", "", 404),
    ("DELETE /v1/messages", "", 405),
)
ClientAction: TypeAlias = Callable[[AsyncClient], Awaitable[None]]


class KnownUrls:
    """The web's URLs: ordinary ones by registered domain, those on odd hosts, and those whose domain rules change."""

    def __init__(self, plain: Sequence[Sequence[str]], odd: Sequence[str], ruled: Sequence[tuple[str, str]]) -> None:
        self.plain = plain
        self.odd = odd
        self.ruled = ruled
        self.last: list[str] = []

    def any_plain(self, chance: Random) -> str:
        return chance.choice(chance.choice(self.plain))

    def some(self, chance: Random) -> str:
        """Return a URL, often a recent one."""
        if self.last and chance.random() < 0.3:
            return chance.choice(self.last)
        url = chance.choice(self.odd) if chance.random() < _ODD_SHARE else self.any_plain(chance)
        if len(self.last) < _RECENT:
            self.last.append(url)
        else:
            self.last[chance.randrange(_RECENT)] = url
        return url


class ClientLoad:
    """The clients of one service; ``accepted`` has the URLs of messages, ``owed`` those with a callback."""

    def __init__(self, port: int, urls: KnownUrls, chance: Random, until: float) -> None:
        self._address = f"http://127.0.0.1:{port}"
        self._port = port
        self._urls = urls
        self._chance = chance
        self._until = until
        self.accepted: dict[str, frozenset[str]] = {}
        self.owed: set[tuple[str, str]] = set()
        self.did: Counter[str] = Counter()
        self._ruling = asyncio.Lock()
        self.wrong: list[str] = []

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until

    async def run(self) -> None:
        """Run all kinds of requests until the end of the run."""
        # Waiting requests have their own connections: otherwise they would block the others on a slow service
        # until the awaited records have expired.
        async with (
            AsyncClient(self._address, connections=32) as client,
            AsyncClient(self._address, connections=WAITING) as patient,
            asyncio.TaskGroup() as group,
        ):
            for name, work, pause in self._work():
                who = patient if work == self._wait else client
                group.create_task(self._repeat(name, work, pause, who, group))

    def _work(self) -> list[tuple[str, ClientAction, float]]:
        """Return the kinds of requests with the seconds between two of them."""
        return [
            ("messages", self._submit, 1 / RATE),
            ("lists of messages", self._submit_list, 2.0),
            ("waits", self._wait, 0.5),
            ("lookups", self._look_up, 0.02),
            ("batches of lookups", self._look_up_many, 0.2),
            ("direct fetches", self._fetch, 0.5),
            ("bad requests", self._be_bad, 0.2),
            ("rules", self._rule, 1.0),
            ("figures", self._read_figures, 2.0),
        ]

    async def _repeat(
        self, name: str, work: ClientAction, pause: float, client: AsyncClient, group: asyncio.TaskGroup
    ) -> None:
        """Start a request at every interval, whether or not the previous one has ended."""
        while not self.is_over:
            group.create_task(self._one(name, work, client))
            await asyncio.sleep(pause * self._chance.uniform(0.5, 1.5))

    async def _one(self, name: str, work: ClientAction, client: AsyncClient) -> None:
        try:
            await work(client)
        except ClientError as error:
            self.wrong.append(f"{name}: {error} (status {error.problem.status})")
        self.did[name] += 1

    def _note(self, message: str, entries: Sequence[str], *, is_owed: bool = False) -> None:
        self.accepted[message] = frozenset(entries)
        if is_owed:
            self.owed |= {(message, url) for url in entries}

    async def _submit(self, client: AsyncClient) -> None:
        chance = self._chance
        urls = [self._urls.some(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        text = f"look at {' and '.join(urls)}!" if chance.random() < 0.5 else ""
        callback = HOOK if chance.random() < 0.15 else ""
        priority: Literal["person", "normal", "bulk"] = chance.choice(("person", "normal", "bulk"))
        force = chance.random() < 0.1
        submit = partial(
            client.submit, text, urls=() if text else urls, priority=priority, force=force, callback=callback
        )
        receipt = await submit()
        self._note(receipt.id, list(receipt.entries), is_owed=bool(callback))
        if chance.random() < 0.02:  # a repeated message is recognised
            again = await submit(id=receipt.id)
            if (again.status, again.entries) != ("known", receipt.entries):
                self.wrong.append(f"the repeated message {receipt.id} was not recognised")

    async def _submit_list(self, client: AsyncClient) -> None:
        lines = [f"and {self._urls.some(self._chance)}" for _ in range(20)] + ["nothing here", "ftp://old.example/file"]
        async for receipt in client.submit_many(lines):
            self._note(receipt.id, list(receipt.entries))

    async def _wait(self, client: AsyncClient) -> None:
        url = self._urls.any_plain(self._chance)
        # With force, because a known record might expire a moment later.
        receipt = await client.submit(urls=[url], priority="person", force=True)
        self._note(receipt.id, list(receipt.entries))
        began = time.monotonic()
        found = await client.lookup(url, wait=WAIT)
        if isinstance(found, Missing):
            took = time.monotonic() - began
            self.wrong.append(f"{url} was not known {took:.1f} s after it was accepted: {found.state}")

    async def _look_up(self, client: AsyncClient) -> None:
        if self._urls.last:
            url = self._chance.choice(self._urls.last)
            found = await client.lookup(url)
            self._check(url, found)

    async def _look_up_many(self, client: AsyncClient) -> None:
        if self._urls.last:
            urls = self._chance.choices(self._urls.last, k=self._chance.randint(1, 300))
            found = [each async for each in client.lookup_many(urls)]
            for url, each in zip(urls, found, strict=True):
                self._check(url, each)

    def _check(self, url: str, found: UrlRecord | Missing) -> None:
        if isinstance(found, UrlRecord):
            self.did["records found"] += 1
            if found.url != url:
                self.wrong.append(f"asked for {url}, answered with {found.url}")

    async def _fetch(self, client: AsyncClient) -> None:
        form = self._chance.choice(("inline", "reference", "none"))
        answer = await client.fetch(self._urls.any_plain(self._chance), body=form, hops=3)  # type: ignore[arg-type]
        if answer.outcome == "failed" and "is blocked" not in answer.detail:  # redirects lead to other domains
            self.wrong.append(f"a direct fetch failed: {answer.url} {answer.reason} {answer.detail}")

    async def _be_bad(self, client: AsyncClient) -> None:
        line, body, expected = self._chance.choice(BAD_REQUESTS)
        status = await _status(self._port, line, body)
        if status != expected:
            self.wrong.append(f"{line} {body} got status {status}, not {expected}")

    async def _rule(self, client: AsyncClient) -> None:
        """Slow a domain down, block it, or remove its rule, and check that the next message is treated accordingly."""
        domain, url = self._chance.choice(self._urls.ruled)
        kind = self._chance.choice(("slow", "blocked", "plain"))
        delay = 3 * DELAY if kind == "slow" else None
        async with self._ruling:
            rule = await client.set_domain(domain, delay=delay, blocked=kind == "blocked")
            receipt = await client.submit(urls=[url], force=True)
        self._note(receipt.id, list(receipt.entries))
        if bool(receipt.entries) is rule.blocked:
            self.wrong.append(f"{url} was {'accepted' if receipt.entries else 'not accepted'} with its domain {kind}")

    async def _read_figures(self, client: AsyncClient) -> None:
        await client.stats()


class EventListener:
    """Receives all events; with ``patience`` it disconnects and reconnects after up to that many seconds."""

    def __init__(self, port: int, chance: Random, patience: float | None) -> None:
        self._address = f"http://127.0.0.1:{port}"
        self._chance = chance
        self._patience = patience
        self.last: int | None = None if patience else 0
        self.heard = 0
        self.visits = 0
        self.announced: Counter[tuple[str, str]] = Counter()
        self.results: dict[tuple[str, str], tuple[str, int | None]] = {}
        self.states: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def run(self) -> None:
        """Receive events until cancelled."""
        while True:
            self.visits += 1
            stay = None if self._patience is None else self._chance.uniform(0.05, self._patience)
            with suppress(TimeoutError):
                async with asyncio.timeout(stay), AsyncClient(self._address) as client:
                    await self._listen(client)
            await asyncio.sleep(self._chance.uniform(0, self._patience or 0.0))

    async def _listen(self, client: AsyncClient) -> None:
        async with aclosing(client.events(self.last)) as events:
            async for each in events:
                self.heard += 1
                if not isinstance(each, Event):
                    self.wrong.append(f"events are missing: {each}")
                    continue
                if self.last is not None and each.number != self.last + 1:
                    self.wrong.append(f"after event {self.last} came {each.number}")
                self.last = each.number
                if self._patience is None:
                    self._keep(each)

    def _keep(self, event: Event) -> None:
        record = event.record
        self.announced[event.message, event.url] += 1
        self.states[record.state.value] += 1
        result = (record.state.value, record.status)
        if self.results.setdefault((record.fetch, record.resolved), result) != result:
            self.wrong.append(f"fetch {record.fetch} has two results")


async def _status(port: int, line: str, body: str) -> int:
    """Send a raw request and return the status of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n{kind}\r\n{body}".encode())
        return int((await reader.readuntil(b"\r\n"))[9:12])
    finally:
        writer.close()
