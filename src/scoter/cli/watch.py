"""Show what becomes of URLs, as it happens."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.lookup import colour_of
from scoter.cli.output import cut, note, paint, print_json, visible
from scoter.cli.progress import StatusLine
from scoter.cli.service import service_options

if TYPE_CHECKING:
    from scoter.client import ClientError, Event, Gap, UrlRecord

HEAD = f"{'time':<8}  {'state':<7}  {'code':>4}  {'kind':<8}  URL"
_WINDOW = 10.0


@click.command()
@click.option("--since", type=click.IntRange(min=0), metavar="N", help="Begin after the event of this number.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after so many events.")
@service_options
def command(since: int | None, count: int | None, server: str, key: str) -> int:
    """Show what becomes of URLs, as it happens.

    A connection that is lost is opened again, and goes on where it was. Ctrl-C ends it, and tells the number to go on
    with. With --json each event is a line; {"gap": ...} stands where events are no longer kept.

    \b
    Example:
      scoter watch
      scoter watch --since 1200 --json
    """
    from scoter.client import Client, Event

    said = invocation()
    shown = Shown(quiet=said.quiet or said.json)
    try:
        with Client(server, key) as client:
            for each in client.events(since, on_open=shown.opened, on_lost=shown.lost):
                if said.json:
                    print_json(each if isinstance(each, Event) else {"gap": each})
                    sys.stdout.flush()
                    shown.note_shown(each)
                else:
                    shown.show(each)
                if count is not None and shown.number >= count:
                    return 0
    finally:
        shown.line.clear()
        if shown.last is not None and not said.quiet and sys.stderr.isatty():
            note(f"Go on with: scoter watch --since {shown.last}")
    return 0


class Shown:
    """What was shown: a table that grows, and below it on a terminal how much comes."""

    def __init__(self, quiet: bool) -> None:
        self.line = StatusLine(quiet or not sys.stderr.isatty())
        self.last: int | None = None
        self.number = 0
        self._quiet = quiet
        self._states: Counter[str] = Counter()
        self._began = time.monotonic()
        self._recent = 0
        self._rate = 0.0
        self._has_head = False

    def opened(self) -> None:
        """Tell that events will come."""
        if not self._quiet and not self._has_head:
            self._has_head = True
            sys.stdout.write(paint(HEAD, bold=True) + "\n")
            sys.stdout.flush()
        self.line.show("waiting for events")

    def lost(self, error: ClientError, pause: float) -> None:
        """Tell that none come for now."""
        self.line.clear()
        note(f"scoter: {error.where}: {error.message}; trying again in {pause:.0f} s")

    def show(self, each: Event | Gap) -> None:
        """Add a row."""
        from scoter.client import Event

        self.line.clear()
        if isinstance(each, Event):
            self._states[each.record.state.value] += 1
            sys.stdout.write(fitted(f"{each.at:%H:%M:%S}", each.record, each.url) + "\n")
        else:
            note(f"scoter: events {each.after + 1} to {each.first - 1} are no longer kept")
        sys.stdout.flush()
        self.note_shown(each)
        self._count()
        told = ", ".join(f"{number:,} {state}" for state, number in self._states.most_common())
        self.line.show(f"{told} · {self._rate:.1f} a second")

    def note_shown(self, each: Event | Gap) -> None:
        """Note where to go on from now on, as soon as a row stands there: Ctrl-C may come at any moment."""
        from scoter.client import Event

        self.last = each.number if isinstance(each, Event) else each.first - 1
        self.number += isinstance(each, Event)

    def _count(self) -> None:
        now = time.monotonic()
        self._recent += 1
        if now - self._began >= 1.0:
            self._rate = self._recent / (now - self._began)
        if now - self._began >= _WINDOW:
            self._began, self._recent = now, 0


def fitted(first: str, record: UrlRecord, url: str) -> str:
    """Return the row of an outcome; on a terminal it is cut to fit."""
    told = [visible(url)]
    if record.resolved != url:
        told.append(f"→ {visible(record.resolved)}")
    title = record.metadata.title if record.metadata else ""
    why = title or record.reason
    if why:
        told.append(f"· {visible(why)}")
    state = record.state.value
    start = f"{first:<8}  " if first else ""
    plain = f"{start}{state:<7}  {record.status or '':>4}  {record.kind.value:<8}  {' '.join(told)}"
    if sys.stdout.isatty():
        plain = cut(plain, shutil.get_terminal_size().columns - 1)
    head, rest = plain[: len(start)], plain[len(start) :]
    return head + paint(rest[:7], colour_of(state)) + rest[7:]
