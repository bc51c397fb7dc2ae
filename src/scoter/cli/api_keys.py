"""API keys on the command line: the options of `serve` and `ui` that create, list and revoke them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, invocation, only_with
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.http.api_keys import ApiKey
    from scoter.live.service.plan import ServiceFolder

_OPTIONS = (
    click.option(
        "--with-keys", is_flag=True, help="Require an API key from local clients too (for use behind a proxy)."
    ),
    click.option("--without-keys", is_flag=True, help="Require no API key, even from other machines."),
    click.option("--new-key", metavar="NAME", help="Create an API key, print its token, and exit."),
    click.option(
        "--scopes",
        multiple=True,
        default=("read,submit",),
        callback=lambda _context, _option, given: ",".join(given),
        help="With --new-key: permissions, of read, submit and admin; can be repeated (default: read,submit).",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(0, 1_000_000, min_open=True),
        help="With --new-key: requests allowed per second.",
    ),
    click.option(
        "--tenant",
        metavar="NAME",
        help="With --new-key: whose messages, events and deliveries the key sees (`scoter serve` only).",
    ),
    click.option("--revoke-key", metavar="ID", help="Revoke an API key, and exit."),
    click.option("--list-keys", is_flag=True, help="List the API keys, and exit."),
)


def key_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about keys."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def manage_keys(
    command: str,
    folder: ServiceFolder,
    *,
    with_keys: bool,
    without_keys: bool,
    new_key: str | None,
    scopes: str,
    rate: float | None,
    tenant: str | None,
    revoke_key: str | None,
    list_keys: bool,
) -> int | None:
    """Do what an option asks for and return the exit code; ``None`` if the command should serve."""
    if sum(map(bool, (new_key, revoke_key, list_keys))) > 1:
        raise UsageError("--new-key, --revoke-key and --list-keys cannot be combined")
    only_with("--new-key", new_key is not None, "--scopes", "--rate", "--tenant")
    if tenant and command != "serve":
        raise UsageError("only the live service has tenants", where="--tenant")
    if new_key is not None:
        return _make_key(folder, new_key, scopes, rate, tenant or "")
    if revoke_key is not None:
        return _revoke_key(command, folder, revoke_key)
    if list_keys:
        return _list_keys(folder)
    if with_keys and without_keys:
        raise UsageError("--with-keys and --without-keys cannot be combined")
    return None


def _make_key(folder: ServiceFolder, name: str, scopes: str, rate: float | None, tenant: str) -> int:
    from scoter.live.service.api_keys import check_tenant, make_key, parse_scopes

    if rate is not None and math.isnan(rate):
        raise UsageError("this is not a number", where="--rate", hint="For example: --rate 50")
    key, token = asyncio.run(make_key(folder, name, parse_scopes(scopes), rate, check_tenant(tenant)))
    if invocation().json:
        print_json({**key_object(key), "token": token})
    else:
        print(token)
        of = f" of {tenant}" if tenant else ""
        note(f"Created key {key.id} for {name}{of} ({', '.join(key.scopes)}). The token is not shown again.")
    return 0


def _revoke_key(command: str, folder: ServiceFolder, key_id: str) -> int:
    from scoter.live.service.api_keys import known_keys, revoke_key

    if not known_keys(folder) or not asyncio.run(revoke_key(folder, key_id)):
        raise UsageError(
            f"there is no key {key_id!r}",
            where=str(folder.root),
            hint=f"To see the keys: scoter {command} --list-keys",
        )
    note(f"Revoked key {key_id}.")
    return 0


def _list_keys(folder: ServiceFolder) -> int:
    from scoter.live.service.api_keys import known_keys

    found = known_keys(folder)
    for key in found:
        if invocation().json:
            print_json(key_object(key))
        else:
            print(key_line(key))
    if not found:
        note("There are no API keys.")
    return 0 if found else NOTHING_TO_DO


def key_line(key: ApiKey) -> str:
    """Return a key as a line of a list."""
    used = f"last used {key.last_used:%Y-%m-%d %H:%M}" if key.last_used else "never used"
    of = f"  (tenant {key.tenant})" if key.tenant else ""
    return f"{key.id}  {','.join(key.scopes):17}  {used:27}  {visible(key.name)}{of}"


def key_object(key: ApiKey) -> dict[str, Any]:
    """Return a key as JSON shows it."""
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "rate": key.rate,
        "tenant": key.tenant,
        "created": key.created.isoformat(),
        "last_used": key.last_used.isoformat() if key.last_used else None,
    }


def without_keys_warning(command: str, *, anybody: bool) -> str:
    """Return a message that says who has access to a service without keys."""
    who = "Anybody who can reach this address" if anybody else "Every user and every program of this machine"
    how = f"scoter {command} … --new-key NAME, then start it with --with-keys"
    return f"{who} has full access, because no key is required. To require keys: {how}"
