"""API keys managed through the service's directory, whether it runs or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, get_args

from scoter.errors import UsageError, nearest
from scoter.http.api_keys import MOST_KEYS, ApiKey, is_tenant_name
from scoter.http.records import LONGEST_KEY_NAME, KeyScope
from scoter.live.service.plan import ServiceFolder
from scoter.live.sqlite.access import ExternalDatabase, SqliteKeyReader, SqliteKeys
from scoter.live.sqlite.database import DatabaseReader, ServiceDb

SCOPES: Final = get_args(KeyScope)


def parse_scopes(text: str) -> tuple[str, ...]:
    """Parse scopes separated by commas.

    >>> parse_scopes("read, submit")
    ('read', 'submit')
    """
    found = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    for name in found:
        if name not in SCOPES:
            close = nearest(name, SCOPES)
            hint = f"Did you mean {close}?" if close else f"The scopes are {', '.join(SCOPES)}."
            raise UsageError(f"{name!r} is not a scope", where="--scopes", hint=hint)
    if not found:
        raise UsageError("no scope given", where="--scopes", hint=f"The scopes are {', '.join(SCOPES)}.")
    return found


def check_tenant(text: str) -> str:
    """Return the name of a tenant, or raise.

    >>> check_tenant("acme")
    'acme'
    """
    if text and not is_tenant_name(text):
        hint = "Use at most 63 lower-case letters, digits, hyphens and underscores; other is reserved."
        raise UsageError(f"{text!r} is not the name of a tenant", where="--tenant", hint=hint)
    return text


async def make_key(
    folder: ServiceFolder, name: str, scopes: Sequence[str], rate: float | None, tenant: str = ""
) -> tuple[ApiKey, str]:
    """Create a key; return it with its token, which cannot be shown again."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_KEY_NAME:
        raise UsageError(
            "a key needs a printable name", where="--new-key", hint=f"At most {LONGEST_KEY_NAME} characters."
        )
    if len(known_keys(folder)) >= MOST_KEYS:
        raise UsageError(f"there are already {MOST_KEYS:,} keys", where=str(folder.root), hint="Revoke some of them.")
    folder.create()
    async with _keys(folder) as keys:
        return await keys.create(name, scopes, rate, tenant)


async def revoke_key(folder: ServiceFolder, identity: str) -> bool:
    """Revoke a key by its ID; return whether it existed."""
    async with _keys(folder) as keys:
        return await keys.revoke(identity)


@asynccontextmanager
async def _keys(folder: ServiceFolder) -> AsyncIterator[SqliteKeys]:
    """Open the key store, whether a service runs or not."""
    try:
        beside = ExternalDatabase(folder.database)
    except UsageError:  # no database yet, or an older one, which no running service uses
        async with ServiceDb(folder.database, traces=folder.traces) as db:
            yield SqliteKeys(db)
        return
    try:
        yield SqliteKeys(beside)
    finally:
        beside.close()


def upgrade_database(folder: ServiceFolder) -> None:
    """Upgrade an older or unfinished database, as readers expect."""
    if folder.database.exists():
        try:
            DatabaseReader(folder.database).close()
        except UsageError:
            ServiceDb(folder.database, traces=folder.traces).close()


def known_keys(folder: ServiceFolder) -> Sequence[ApiKey]:
    """Return all keys, oldest first; works while a service runs."""
    if not folder.database.exists():
        return ()
    reader = DatabaseReader(folder.database)
    try:
        return SqliteKeyReader(reader).all()
    finally:
        reader.close()
