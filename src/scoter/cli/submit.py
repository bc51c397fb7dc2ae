"""Submit texts and URLs to the live service."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from scoter.cli.files import bytes_to_read, open_lines
from scoter.cli.invocation import duration_option, invocation, service_options
from scoter.cli.output import StatusLine, note, print_json, visible
from scoter.cli.watch import connection_lost, event_row
from scoter.core.display import count, duration, rate
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.client import AsyncClient, ClientError, Event, Receipt, Submission
    from scoter.live.api.records import Urgency

_ONE_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_LONGEST_TEXT = 100_000  # characters that the service accepts
_MOST_OPEN = 50_000  # URLs whose outcome is awaited at a time


@click.command()
@click.argument("texts", nargs=-1)
@click.option("--file", "file", type=click.Path(path_type=Path), metavar="FILE", help="Submit each line of this file.")
@click.option(
    "--priority",
    type=click.Choice(["person", "normal", "bulk"]),
    help="Urgency (default: person for arguments, bulk for files and stdin).",
)
@click.option("--force", is_flag=True, help="Fetch URLs again that are already known.")
@click.option("--callback", default="", metavar="URL", help="Webhook that receives each outcome.")
@click.option("--wait", is_flag=True, help="Show the outcome of each URL as it arrives.")
@duration_option("--within", "60s", "With --wait: stop when no outcome has arrived for this long.")
@duration_option("--patience", "10m", "How long to retry when the service is full.")
@service_options
def command(
    texts: tuple[str, ...],
    file: Path | None,
    priority: Urgency | None,
    force: bool,
    callback: str,
    wait: bool,
    within: timedelta,
    patience: timedelta,
    server: str,
    key: str,
) -> int:
    """Submit texts and URLs to the live service.

    Each argument is a message: a URL, or a text that contains URLs. A dash reads messages from stdin, one per line.
    Exit code 1: no URL was found, or a message was refused; with --wait also if a URL failed or its outcome did not
    arrive in time.

    \b
    Example:
      scoter submit "look at https://example.org/ and example.com" --wait
      scoter submit --file urls.txt
      tail -f links.log | scoter submit -
    """
    from scoter.client import AsyncClient

    is_bulk = file is not None or texts == ("-",)
    if file is not None and texts:
        raise UsageError("--file cannot be combined with messages", hint="Submit the file and the messages separately.")
    if not is_bulk and not texts:
        raise UsageError("there is nothing to submit", hint="Give URLs or texts, --file FILE, or - for stdin.")
    batch = MessageBatch(priority or ("bulk" if is_bulk else "person"), force, callback)
    descriptor = open_lines(file) if is_bulk else None
    total = 0 if descriptor is None else bytes_to_read(descriptor)
    run = SubmitRun(batch, is_bulk=is_bulk, wait=wait, within=within.total_seconds(), total_bytes=total)

    async def submit() -> None:
        async with AsyncClient(server, key, pause=run.pause) as client:
            messages = batch.from_lines(descriptor) if descriptor is not None else batch.from_texts(texts)
            await run.run(client, messages, patience.total_seconds())

    try:
        asyncio.run(submit())
    finally:
        run.print_summary()
        if file is not None and descriptor is not None:
            os.close(descriptor)
    return run.exit_code


class MessageBatch:
    """The messages of a run; each gets an id by which its outcomes are recognised."""

    def __init__(self, priority: Urgency, force: bool, callback: str) -> None:
        self.force = force
        self.skipped = 0
        self.bytes_read = 0
        self._priority = priority
        self._callback = callback
        self._run = uuid.uuid4().hex
        self.number = 0

    def is_ours(self, message: str) -> bool:
        return message.startswith(self._run)

    async def from_texts(self, texts: tuple[str, ...]) -> AsyncIterator[Submission]:
        for text in texts:
            if len(text) > _LONGEST_TEXT:
                raise UsageError(
                    f"a text has {len(text):,} characters", hint=f"The service accepts at most {_LONGEST_TEXT:,}."
                )
            yield self._message(text)

    async def from_lines(self, descriptor: int) -> AsyncIterator[Submission]:
        from scoter.client.submissions import lines

        async with aclosing(lines(descriptor, 4 * _LONGEST_TEXT)) as found:
            async for line in found:
                self.bytes_read += len(line or b"") + 1
                text = "" if line is None else line.decode("utf-8", "replace").strip()
                if line is None or len(text) > _LONGEST_TEXT:
                    self.skipped += 1
                elif text:
                    yield self._message(text)

    def _message(self, text: str) -> Submission:
        from scoter.client import Submission
        from scoter.http.records import LONGEST_URL

        self.number += 1
        is_url = len(text) <= LONGEST_URL and _ONE_URL.fullmatch(text) is not None
        return Submission(
            id=f"{self._run}-{self.number}",
            text="" if is_url else text,
            urls=(text,) if is_url else (),
            priority=self._priority,
            force=self.force,
            callback=self._callback,
        )


class SubmitRun:
    """One run of the command: what was accepted, and which outcomes have arrived."""

    def __init__(self, batch: MessageBatch, *, is_bulk: bool, wait: bool, within: float, total_bytes: int = 0) -> None:
        """``total_bytes`` is the size of the input, 0 if unknown."""
        options = invocation()
        self._total_bytes = total_bytes
        self._batch = batch
        self._is_bulk = is_bulk
        self._wait = wait
        self._within = within
        self._json = options.json
        self._quiet = options.quiet
        self._status = StatusLine(options.quiet)
        self._began = time.monotonic()
        self._messages = self._urls = self._unusable = self._refused = self._bad = 0
        # (message, URL) of outcomes that are awaited, that arrived before their receipt, and that were looked up.
        self._open: set[tuple[str, str]] = set()
        self._early: set[tuple[str, str]] = set()
        self._looked_up: set[tuple[str, str]] = set()
        self._has_gap = False
        self._changed = asyncio.Event()
        self._is_over = False

    @property
    def exit_code(self) -> int:
        return 1 if self._refused or self._bad or self._open or not self._urls else 0

    async def run(self, client: AsyncClient, messages: AsyncIterator[Submission], patience: float) -> None:
        """Submit all messages and, with ``--wait``, wait for their outcomes."""
        if not self._wait:
            await self._submit(client, messages, patience, None)
            self._is_over = True
            return
        listening = asyncio.Event()
        following = asyncio.create_task(self._follow(client, listening))
        try:
            await _either(asyncio.create_task(listening.wait()), following)
            await self._submit(client, messages, patience, following)
            self._is_over = True
            while self._open and await self._await_change(following):
                if self._has_gap:
                    await self._look_up(client)
            if self._open:
                await self._look_up(client)
        finally:
            following.cancel()
            await asyncio.wait((following,))

    async def _submit(
        self,
        client: AsyncClient,
        messages: AsyncIterator[Submission],
        patience: float,
        following: asyncio.Task[None] | None,
    ) -> None:
        """Submit all messages; with ``--wait``, no faster than their outcomes arrive."""
        async with aclosing(client.submit_many(messages, patience=patience)) as receipts:
            async for receipt in receipts:
                self._record(receipt)
                while following is not None and len(self._open) >= _MOST_OPEN:
                    self._changed.clear()
                    if not await _either(asyncio.create_task(self._changed.wait()), following):
                        break
                    if self._has_gap:
                        await self._look_up(client)

    async def _await_change(self, following: asyncio.Task[None]) -> bool:
        self._changed.clear()
        return await _either(asyncio.create_task(self._changed.wait()), following, self._within)

    async def _follow(self, client: AsyncClient, listening: asyncio.Event) -> None:
        from scoter.client import Gap

        def opened() -> None:
            self._has_gap = listening.is_set()  # a reconnect: events may have been missed in between
            listening.set()
            self._changed.set()

        async with aclosing(client.events(on_open=opened, on_lost=self._lost)) as events:
            async for event in events:
                if isinstance(event, Gap):
                    self._has_gap = True
                elif self._batch.is_ours(event.message):
                    self._settle(event)
                self._changed.set()

    def _lost(self, error: ClientError, pause: float) -> None:
        self._status.note(connection_lost(error, pause))

    async def _look_up(self, client: AsyncClient) -> None:
        """Look up URLs whose events may be missed; not with ``--force``, where a record may be an old one."""
        from scoter.client import Event, UrlRecord

        self._has_gap = False
        if self._batch.force:
            return
        waiting = list(self._open)
        at = 0
        async for record in client.lookup_many([url for _, url in waiting]):
            (message, url), at = waiting[at], at + 1
            if isinstance(record, UrlRecord) and (message, url) in self._open:
                self._looked_up.add((message, url))
                self._show(Event(number=0, message=message, url=url, at=record.fetched_at, record=record))
                self._open.discard((message, url))

    def _record(self, receipt: Receipt) -> None:
        """Count a receipt, and print it unless its outcomes will be printed."""
        from scoter.client import Outcome

        self._messages += 1
        self._urls += len(receipt.entries)
        self._unusable += len(receipt.unusable)
        self._refused += receipt.status in (Outcome.REFUSED, Outcome.CONFLICT)
        if self._wait:
            keys = {(receipt.id, url) for url in receipt.entries}
            self._open |= keys - self._early
            self._early -= keys
        if self._json and not self._wait:
            print_json(receipt)
        elif not self._is_bulk or receipt.status in (Outcome.REFUSED, Outcome.CONFLICT):
            self._print_receipt(receipt)
        awaited = f" · {len(self._open):,} awaited" if self._wait else ""
        speed = rate(self._messages, time.monotonic() - self._began)
        self._status.show(f"{self._progress()} · {speed}{awaited}")

    def _progress(self) -> str:
        """Return the progress; messages that were read but not submitted yet wait because their domains are busy."""
        share = f"{min(1.0, self._batch.bytes_read / self._total_bytes):.0%} read · " if self._total_bytes else ""
        return f"{share}{self._messages:,} of {count(self._batch.number, 'message')} submitted"

    def _print_receipt(self, receipt: Receipt) -> None:
        from scoter.client import Outcome

        if receipt.status is Outcome.REFUSED:
            why = f": too many URLs of {receipt.domain} are waiting" if receipt.domain else ""
            self._status.note(f"refused{why}")
        if receipt.status is Outcome.CONFLICT:
            self._status.note(f"refused: the ID {visible(receipt.id)} belongs to a message with other content")
        for each in receipt.unusable:
            self._status.note(f"not accepted: {visible(each.url)}: {visible(each.why)}")
        if receipt.left_out:
            self._status.note(f"not accepted: {count(receipt.left_out, 'more URL')} in the same message")
        if receipt.status not in (Outcome.REFUSED, Outcome.CONFLICT) and not receipt.entries and not receipt.unusable:
            self._status.note("no URL found")
        if not self._wait:
            self._status.clear()
            sys.stdout.writelines(f"{receipt.status.value}  {visible(url)}\n" for url in receipt.entries)

    def _settle(self, event: Event) -> None:
        key = (event.message, event.url)
        if key in self._looked_up:
            return
        if key in self._open:
            self._open.discard(key)
        else:
            self._early.add(key)
        self._show(event)

    def _show(self, event: Event) -> None:
        self._bad += event.record.state.value != "ok"
        self._status.clear()
        if self._json:
            print_json(event)
        else:
            sys.stdout.write(event_row("", event.record, event.url) + "\n")
        sys.stdout.flush()

    async def pause(self, seconds: float) -> None:
        """Wait while the service is full or unavailable."""
        self._status.show(f"{self._progress()} · the service is busy, retrying in {seconds:.0f} s")
        await asyncio.sleep(seconds)

    def print_summary(self) -> None:
        """Print what came of the run."""
        self._status.clear()
        if self._quiet:
            return
        if self._batch.skipped:
            note(f"Skipped {count(self._batch.skipped, 'line')} with more than {_LONGEST_TEXT:,} characters.")
        if self._is_bulk and self._messages:
            took = time.monotonic() - self._began
            # An interrupted run has not seen every receipt.
            least = "" if self._is_over else "at least "
            accepted = count(self._messages - self._refused, "message")
            parts = [f"Accepted {least}{accepted} with {count(self._urls, 'URL')}"]
            parts += [f"{count(self._unusable, 'URL')} not accepted"] if self._unusable else []
            parts += [f"{self._refused:,} refused"] if self._refused else []
            note(f"{', '.join(parts)}, in {duration(took)} ({rate(self._messages, took)}).")
        elif self._is_bulk and not self._batch.number:
            note("There was nothing to submit.")
        if self._open:
            note(f"{count(len(self._open), 'URL')} not done yet. To see the outcome later: scoter lookup URL")


async def _either(waited: asyncio.Task[Literal[True]], other: asyncio.Task[None], within: float | None = None) -> bool:
    """Wait for the first task while the other one runs; return whether the first has finished."""
    try:
        await asyncio.wait((waited, other), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        if other.done():
            other.result()
        return waited.done()
    finally:
        waited.cancel()
