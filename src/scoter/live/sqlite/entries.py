"""Steps on the journal's rows that belong to one transaction, whoever takes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

import msgspec

from scoter.live.ports import Entry
from scoter.live.records import Event, Priority, UrlRecord
from scoter.live.sqlite.moments import micros, moment

COLUMNS: Final = (
    "e.id, m.id, e.url, e.priority, m.force, m.callback, e.accepted, e.tries"
    " FROM entries e JOIN messages m ON m.number = e.message"
)

_encode = msgspec.json.Encoder().encode


def entry_of(row: Sequence[Any]) -> Entry:
    """Return the entry that a row of ``COLUMNS`` is."""
    return Entry(
        id=row[0],
        message=row[1],
        url=row[2],
        priority=Priority(row[3]),
        force=bool(row[4]),
        callback=row[5],
        accepted=moment(row[6]),
        tries=row[7],
    )


def close(connection: sqlite3.Connection, entry: int, reader: str | None, now: datetime) -> bool:
    """End an entry that a reader has, or that waits; tell whether it was so."""
    delete = "DELETE FROM entries WHERE id = ? AND reader IS ? RETURNING message"
    found = connection.execute(delete, (entry, reader)).fetchall()
    if not found:
        return False
    update = "UPDATE messages SET open = open - 1, done = CASE WHEN open = 1 THEN ? END WHERE number = ?"
    connection.execute(update, (micros(now), *found[0]))
    return True


def announce(connection: sqlite3.Connection, entry: Entry, record: UrlRecord, now: datetime) -> Event:
    """Announce an entry's outcome, and make its delivery if one is wished for."""
    at, text = micros(now), _encode(record)
    insert = "INSERT INTO events (message, url, at, record) VALUES (?, ?, ?, ?)"
    number = connection.execute(insert, (entry.message, entry.url, at, text)).lastrowid
    assert number is not None  # noqa: S101 - an INSERT of a row has one
    event = Event(number=number, message=entry.message, url=entry.url, at=moment(at), record=record)
    if entry.callback:
        insert = "INSERT INTO deliveries (id, callback, event, due) VALUES (?, ?, ?, 0)"
        connection.execute(insert, (uuid4().hex, entry.callback, _encode(event)))
    return event
