"""API keys by way of the service's directory, whether it runs or not: whoever may write there may make them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, get_args

from scoter.api import LONGEST_KEY_NAME, KeyScope
from scoter.errors import UsageError, nearest
from scoter.live.keys import MOST_KEYS, ApiKey
from scoter.live.sqlite.access import ExternalDatabase, SqliteKeyReader, SqliteKeys
from scoter.live.sqlite.database import DatabaseReader, ServiceDb
from scoter.web.service.plan import ServiceFolder

SCOPES: Final = get_args(KeyScope)


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes that are named, separated by commas.

    >>> scopes_in("read, submit")
    ('read', 'submit')
    """
    found = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    for name in found:
        if name not in SCOPES:
            close = nearest(name, SCOPES)
            hint = f"Did you mean {close}?" if close else f"There are {', '.join(SCOPES)}."
            raise UsageError(f"{name!r} is not a scope", where="--scopes", hint=hint)
    if not found:
        raise UsageError("no scope is named", where="--scopes", hint=f"There are {', '.join(SCOPES)}.")
    return found


async def make_key(folder: ServiceFolder, name: str, scopes: Sequence[str], rate: float | None) -> tuple[ApiKey, str]:
    """Make a key; return it with its token, which cannot be shown again."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_KEY_NAME:
        raise UsageError(
            "a key needs a name that can be printed", where="--new-key", hint=f"At most {LONGEST_KEY_NAME} characters."
        )
    if len(known_keys(folder)) >= MOST_KEYS:
        raise UsageError(f"there are {MOST_KEYS:,} keys already", where=str(folder.root), hint="Revoke some of them.")
    folder.create()
    async with _keys(folder) as keys:
        return await keys.create(name, scopes, rate)


async def revoke_key(folder: ServiceFolder, identity: str) -> bool:
    """Remove a key by its id; tell whether there was one."""
    async with _keys(folder) as keys:
        return await keys.revoke(identity)


@asynccontextmanager
async def _keys(folder: ServiceFolder) -> AsyncIterator[SqliteKeys]:
    """Open the keys, whether a service runs or not."""
    try:
        beside = ExternalDatabase(folder.database)
    except UsageError:  # there is no database yet, or one of an earlier version: then no service of this one has it
        async with ServiceDb(folder.database) as db:
            yield SqliteKeys(db)
        return
    try:
        yield SqliteKeys(beside)
    finally:
        beside.close()


def upgrade_database(folder: ServiceFolder) -> None:
    """Bring the database up to date, if it is an earlier version's or was not finished: readers expect that."""
    if folder.database.exists():
        try:
            DatabaseReader(folder.database).close()
        except UsageError:
            ServiceDb(folder.database).close()


def known_keys(folder: ServiceFolder) -> Sequence[ApiKey]:
    """Return every key, in the order of their making; a running service is no hindrance."""
    if not folder.database.exists():
        return ()
    reader = DatabaseReader(folder.database)
    try:
        return SqliteKeyReader(reader).all()
    finally:
        reader.close()
