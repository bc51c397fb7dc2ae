"""Show the outcome of each URL as it happens."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation, service_options
from scoter.cli.lookup import colour_of
from scoter.cli.output import StatusLine, cut, note, paint, print_json, visible

if TYPE_CHECKING:
    from scoter.client import ClientError, Event, Gap, UrlRecord

_HEADINGS = f"{'time':<8}  {'state':<7}  {'code':>4}  {'kind':<8}  URL"
_RATE_WINDOW = 10.0


@click.command()
@click.option("--since", type=click.IntRange(min=0), metavar="N", help="Start after the event with this number.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after this many events.")
@service_options
def command(since: int | None, count: int | None, server: str, key: str) -> int:
    """Show the outcome of each URL as it happens.

    After a lost connection, reconnects and continues where it stopped. Ctrl-C stops and prints the number to continue
    from. With --json, prints one event per line, and {"gap": ...} for events that are no longer available.

    \b
    Example:
      scoter watch
      scoter watch --since 1200 --json
    """
    from scoter.client import Client, Event

    options = invocation()
    table = EventTable(quiet=options.quiet or options.json)
    try:
        with Client(server, key) as client:
            for each in client.events(since, on_open=table.opened, on_lost=table.lost):
                if options.json:
                    print_json(each if isinstance(each, Event) else {"gap": each})
                    sys.stdout.flush()
                    table.count(each)
                else:
                    table.show(each)
                if count is not None and table.number >= count:
                    return 0
    finally:
        table.status.clear()
        if table.last is not None and not options.quiet and sys.stderr.isatty():
            note(f"To continue: scoter watch --since {table.last}")
    return 0


class EventTable:
    """A growing table of events, with their rate below it on a terminal."""

    def __init__(self, quiet: bool) -> None:
        self.status = StatusLine(quiet or not sys.stderr.isatty())
        self.last: int | None = None
        self.number = 0
        self._quiet = quiet
        self._states: Counter[str] = Counter()
        self._began = time.monotonic()
        self._recent = 0
        self._rate = 0.0
        self._has_headings = False

    def opened(self) -> None:
        """Print the headings at the first connection."""
        if not self._quiet and not self._has_headings:
            self._has_headings = True
            sys.stdout.write(paint(_HEADINGS, bold=True) + "\n")
            sys.stdout.flush()
        self.status.show("waiting for events")

    def lost(self, error: ClientError, pause: float) -> None:
        """Report a lost connection."""
        self.status.clear()
        note(connection_lost(error, pause))

    def show(self, each: Event | Gap) -> None:
        """Add a row."""
        from scoter.client import Event

        self.status.clear()
        if isinstance(each, Event):
            self._states[each.record.state.value] += 1
            sys.stdout.write(event_row(f"{each.at:%H:%M:%S}", each.record, each.url) + "\n")
        else:
            note(f"scoter: events {each.after + 1} to {each.first - 1} are no longer available")
        sys.stdout.flush()
        self.count(each)
        self._measure()
        states = ", ".join(f"{number:,} {state}" for state, number in self._states.most_common())
        self.status.show(f"{states} · {self._rate:.1f}/s")

    def count(self, each: Event | Gap) -> None:
        """Record the number to continue from, as soon as a row is printed: Ctrl-C may come at any moment."""
        from scoter.client import Event

        self.last = each.number if isinstance(each, Event) else each.first - 1
        self.number += isinstance(each, Event)

    def _measure(self) -> None:
        now = time.monotonic()
        self._recent += 1
        if now - self._began >= 1.0:
            self._rate = self._recent / (now - self._began)
        if now - self._began >= _RATE_WINDOW:
            self._began, self._recent = now, 0


def connection_lost(error: ClientError, pause: float) -> str:
    """Return a message about a lost connection."""
    return f"scoter: {error.where}: {error.message}; retrying in {pause:.0f} s"


def event_row(first: str, record: UrlRecord, url: str) -> str:
    """Return the row of an outcome, truncated to fit a terminal."""
    parts = [visible(url)]
    if record.resolved != url:
        parts.append(f"→ {visible(record.resolved)}")
    title = record.metadata.title if record.metadata else ""
    if comment := title or record.reason:
        parts.append(f"· {visible(comment)}")
    state = record.state.value
    start = f"{first:<8}  " if first else ""
    row = f"{start}{state:<7}  {record.status or '':>4}  {record.kind.value:<8}  {' '.join(parts)}"
    if sys.stdout.isatty():
        row = cut(row, shutil.get_terminal_size().columns - 1)
    head, rest = row[: len(start)], row[len(start) :]
    return head + paint(rest[:7], colour_of(state)) + rest[7:]
