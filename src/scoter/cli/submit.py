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
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json, visible
from scoter.cli.progress import StatusLine
from scoter.cli.service import counted, opened, seconds, service_options, size_of
from scoter.cli.watch import fitted
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.api import Urgency
    from scoter.client import AsyncClient, ClientError, Event, Receipt, Submission

_ONE_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_LONGEST = 100_000  # characters of a text, as the service takes it
_MOST_OPEN = 50_000  # URLs whose outcome is awaited


@click.command()
@click.argument("texts", nargs=-1)
@click.option("--file", "file", type=click.Path(path_type=Path), metavar="F", help="Submit each line of this file.")
@click.option(
    "--priority",
    type=click.Choice(["person", "normal", "bulk"]),
    help="Who waits (person for arguments, bulk for files and standard input).",
)
@click.option("--force", is_flag=True, help="Fetch URLs that are known, too.")
@click.option("--callback", default="", metavar="URL", help="Where the service posts each outcome.")
@click.option("--wait", is_flag=True, help="Show what becomes of each URL, as it comes.")
@click.option(
    "--within",
    default="60s",
    metavar="TIME",
    callback=seconds,
    help="Stop waiting when nothing came for so long (60s).",
)
@click.option(
    "--patience", default="10m", metavar="TIME", callback=seconds, help="How long a full service is tried again (10m)."
)
@service_options
def command(
    texts: tuple[str, ...],
    file: Path | None,
    priority: Urgency | None,
    force: bool,
    callback: str,
    wait: bool,
    within: float,
    patience: float,
    server: str,
    key: str,
) -> int:
    """Submit texts and URLs to the live service.

    Each argument is a message: a URL, or a text with URLs in it. A dash reads messages from standard input, one a line.
    Exit code 1 if no URL was found or one was refused; with --wait also if one did not come out well, or in time.

    \b
    Example:
      scoter submit "look at https://example.org/ and example.com" --wait
      scoter submit --file urls.txt
      tail -f links.log | scoter submit -
    """
    from scoter.client import AsyncClient

    is_bulk = file is not None or texts == ("-",)
    if file is not None and texts:
        raise UsageError(
            "--file excludes other messages", hint="Submit the file and the arguments one after the other."
        )
    if not is_bulk and not texts:
        raise UsageError("there is nothing to submit", hint="Name URLs or texts, a file with --file, or - for stdin.")
    order = Order(priority or ("bulk" if is_bulk else "person"), force, callback)
    descriptor = opened(file) if is_bulk else None
    work = Submitting(order, is_bulk=is_bulk, wait=wait, within=within, size=size_of(descriptor))

    async def run() -> None:
        async with AsyncClient(server, key, pause=work.pause) as client:
            messages = order.from_lines(descriptor) if descriptor is not None else order.from_texts(texts)
            await work.run(client, messages, patience)

    try:
        asyncio.run(run())
    finally:
        work.tell()
        if file is not None and descriptor is not None:
            os.close(descriptor)
    return work.exit_code


class Order:
    """What is common to all messages of a run; each gets an id by which its outcomes are known again."""

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
            if len(text) > _LONGEST:
                raise UsageError(f"a text of {len(text):,} characters", hint=f"At most {_LONGEST:,} are taken.")
            yield self._message(text)

    async def from_lines(self, descriptor: int) -> AsyncIterator[Submission]:
        from scoter.client.submissions import lines

        async with aclosing(lines(descriptor, 4 * _LONGEST)) as found:
            async for line in found:
                self.bytes_read += len(line or b"") + 1
                text = "" if line is None else line.decode("utf-8", "replace").strip()
                if line is None or len(text) > _LONGEST:
                    self.skipped += 1
                elif text:
                    yield self._message(text)

    def _message(self, text: str) -> Submission:
        from scoter.api import LONGEST_URL
        from scoter.client import Submission

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


class Submitting:
    """A run: what was accepted, and what has come of it."""

    def __init__(self, order: Order, *, is_bulk: bool, wait: bool, within: float, size: int = 0) -> None:
        """``size`` is how many bytes are to be read, if that is known."""
        said = invocation()
        self._size = size
        self._order = order
        self._is_bulk = is_bulk
        self._wait = wait
        self._within = within
        self._json = said.json
        self._quiet = said.quiet
        self._line = StatusLine(said.quiet)
        self._began = time.monotonic()
        self._messages = self._urls = self._unusable = self._refused = self._bad = 0
        # Outcomes that are awaited; those that came before the receipt of their message; those that were looked up.
        self._open: set[tuple[str, str]] = set()
        self._early: set[tuple[str, str]] = set()
        self._looked_up: set[tuple[str, str]] = set()
        self._has_missed = False
        self._stirred = asyncio.Event()
        self._is_over = False

    @property
    def exit_code(self) -> int:
        return 1 if self._refused or self._bad or self._open or not self._urls else 0

    async def run(self, client: AsyncClient, messages: AsyncIterator[Submission], patience: float) -> None:
        """Submit everything, and wait for outcomes if that is wanted."""
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
            while self._open and await self._has_stirred(following):
                if self._has_missed:
                    await self._look(client)
            if self._open:
                await self._look(client)
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
        """Submit everything; with somebody who follows the outcomes, no faster than they come."""
        async with aclosing(client.submit_many(messages, patience=patience)) as receipts:
            async for receipt in receipts:
                self._note(receipt)
                while following is not None and len(self._open) >= _MOST_OPEN:
                    self._stirred.clear()
                    if not await _either(asyncio.create_task(self._stirred.wait()), following):
                        break
                    if self._has_missed:
                        await self._look(client)

    async def _has_stirred(self, following: asyncio.Task[None]) -> bool:
        self._stirred.clear()
        return await _either(asyncio.create_task(self._stirred.wait()), following, self._within)

    async def _follow(self, client: AsyncClient, listening: asyncio.Event) -> None:
        from scoter.client import Gap

        def opened() -> None:
            self._has_missed = listening.is_set()  # not the first time: something may have been announced in between
            listening.set()
            self._stirred.set()

        async with aclosing(client.events(on_open=opened, on_lost=self._lost)) as events:
            async for event in events:
                if isinstance(event, Gap):
                    self._has_missed = True
                elif self._order.is_ours(event.message):
                    self._settle(event)
                self._stirred.set()

    def _lost(self, error: ClientError, pause: float) -> None:
        self._line.note(f"scoter: {error.where}: {error.message}; trying again in {pause:.0f} s")

    async def _look(self, client: AsyncClient) -> None:
        """Look up what events may not tell any more, but not where a new fetch cannot be told from what was known."""
        from scoter.client import Event, UrlRecord

        self._has_missed = False
        if self._order.force:
            return
        waiting = list(self._open)
        at = 0
        async for record in client.lookup_many([url for _, url in waiting]):
            (message, url), at = waiting[at], at + 1
            if isinstance(record, UrlRecord) and (message, url) in self._open:
                self._looked_up.add((message, url))
                self._show(Event(number=0, message=message, url=url, at=record.fetched_at, record=record))
                self._open.discard((message, url))

    def _note(self, receipt: Receipt) -> None:
        """Count a receipt, and show it where nothing else is shown of it."""
        from scoter.client import Outcome

        self._messages += 1
        self._urls += len(receipt.entries)
        self._unusable += len(receipt.unusable)
        self._refused += receipt.status is Outcome.REFUSED
        if self._wait:
            keys = {(receipt.id, url) for url in receipt.entries}
            self._open |= keys - self._early
            self._early -= keys
        if self._json and not self._wait:
            print_json(receipt)
        elif not self._is_bulk or receipt.status is Outcome.REFUSED:
            self._tell_of(receipt)
        took = max(0.001, time.monotonic() - self._began)
        awaited = f" · {len(self._open):,} awaited" if self._wait else ""
        self._line.show(f"{self._so_far()} · {self._messages / took:,.0f} a second{awaited}")

    def _so_far(self) -> str:
        """Return how far the run is; those that were read and not taken yet stand aside for their domains' sake."""
        share = f"{min(1.0, self._order.bytes_read / self._size) * 100:.0f} % read · " if self._size else ""
        return f"{share}{self._messages:,} of {self._order.number:,} messages done"

    def _tell_of(self, receipt: Receipt) -> None:
        from scoter.client import Outcome

        if receipt.status is Outcome.REFUSED:
            self._line.note(f"refused: too many URLs of {receipt.domain} are waiting" if receipt.domain else "refused")
        for each in receipt.unusable:
            self._line.note(f"not taken: {visible(each.url)}: {visible(each.why)}")
        if receipt.left_out:
            self._line.note(f"not taken: {receipt.left_out} more URLs of the same message")
        if receipt.status is not Outcome.REFUSED and not receipt.entries and not receipt.unusable:
            self._line.note("no URL was found")
        if not self._wait:
            self._line.clear()
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
        self._line.clear()
        if self._json:
            print_json(event)
        else:
            sys.stdout.write(fitted("", event.record, event.url) + "\n")
        sys.stdout.flush()

    async def pause(self, seconds: float) -> None:
        """Wait for a service that is full or away, and say so."""
        self._line.show(f"{self._so_far()} · there is no room for more now, going on in {seconds:.0f} s")
        await asyncio.sleep(seconds)

    def tell(self) -> None:
        """Tell what came of the run."""
        self._line.clear()
        if self._quiet:
            return
        if self._order.skipped:
            note(f"{counted(self._order.skipped, 'line')} of more than {_LONGEST:,} characters not submitted")
        if self._is_bulk and self._messages:
            took = max(0.001, time.monotonic() - self._began)
            # A run that was broken off has not seen every receipt of what it sent.
            least = "" if self._is_over else "at least "
            accepted = counted(self._messages - self._refused, "message")
            told = [f"{least}{accepted} with {counted(self._urls, 'URL')} accepted"]
            told += [f"{self._unusable:,} URLs not taken"] if self._unusable else []
            told += [f"{self._refused:,} refused"] if self._refused else []
            note(f"{', '.join(told)}, in {took:.1f} s ({self._messages / took:,.0f} a second)")
        elif self._is_bulk and not self._order.number:
            note("there was nothing to submit")
        if self._open:
            note(f"{counted(len(self._open), 'URL')} not done yet; `scoter lookup` tells more later")


async def _either(waited: asyncio.Task[Literal[True]], other: asyncio.Task[None], within: float | None = None) -> bool:
    """Wait for the first, as long as the other goes on; tell whether it came."""
    try:
        await asyncio.wait((waited, other), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        if other.done():
            other.result()
        return waited.done()
    finally:
        waited.cancel()
