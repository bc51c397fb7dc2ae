"""API keys of a service that does not run: whoever has its directory may make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scoter.errors import UsageError, nearest
from scoter.live.memory.access import ApiKey
from scoter.live.sqlite.database import Reader, ServiceDb
from scoter.live.sqlite.keys import KeyReader, SqliteKeys
from scoter.web.keys import Scope
from scoter.web.service.plan import Folder

SCOPES: Final = tuple(scope.value for scope in Scope if scope)


def scopes_in(text: str) -> tuple[str, ...]:
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


async def make_key(folder: Folder, name: str, scopes: Sequence[str], rate: float | None) -> tuple[ApiKey, str]:
    """Make a key; return it with its token, which cannot be shown again."""
    folder.create()
    async with ServiceDb(folder.database) as db:
        return await SqliteKeys(db).create(name, scopes, rate)


async def revoke_key(folder: Folder, identity: str) -> bool:
    """Remove a key by its id; tell whether there was one."""
    async with ServiceDb(folder.database) as db:
        return await SqliteKeys(db).revoke(identity)


def known_keys(folder: Folder) -> Sequence[ApiKey]:
    """Return every key, in the order of their making; a running service is no hindrance."""
    if not folder.database.exists():
        return ()
    reader = Reader(folder.database)
    try:
        return KeyReader(reader).all()
    finally:
        reader.close()
