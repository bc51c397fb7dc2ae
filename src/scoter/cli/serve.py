"""Run the live service."""

from __future__ import annotations

import asyncio
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, agent_option, invocation, only_with, setting_option
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.live.keys import ApiKey
    from scoter.web.service.plan import ServiceFolder


@click.command()
@click.option(
    "--dir", "directory", default="scoter-live", show_default=True, help="Directory for everything the service stores."
)
@click.option("--host", help="Address to listen on (live.host).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for any free port (live.port).")
@agent_option
@setting_option("--fetchers", "live.processes", "Number of fetching processes", kind=int)
@setting_option("--lookups", "live.lookups", "Number of processes that answer lookups", kind=int)
@click.option("--with-keys", is_flag=True, help="Require an API key from local clients too (for use behind a proxy).")
@click.option("--without-keys", is_flag=True, help="Require no API key, even from other machines.")
@click.option("--new-key", metavar="NAME", help="Create an API key, print its token, and exit.")
@click.option(
    "--scopes", default="read,submit", show_default=True, help="With --new-key: permissions (read,submit,admin)."
)
@click.option(
    "--rate", type=click.FloatRange(0, 1_000_000, min_open=True), help="With --new-key: requests allowed per second."
)
@click.option("--revoke-key", metavar="ID", help="Revoke an API key, and exit.")
@click.option("--list-keys", is_flag=True, help="List the API keys, and exit.")
def command(
    directory: str,
    host: str | None,
    port: int | None,
    with_keys: bool,
    without_keys: bool,
    new_key: str | None,
    scopes: str,
    rate: float | None,
    revoke_key: str | None,
    list_keys: bool,
) -> int:
    """Run the live service.

    Clients submit messages; the service fetches the URLs in them and reports what they are. Everything it stores is in
    one directory. Ctrl-C or SIGTERM stops it; accepted URLs that are not done continue at the next start. It
    listens on addresses other than loopback only if there is an API key.

    \b
    Example:
      scoter serve --dir live --agent examplebot
      curl -d '{"text": "look at https://example.org/"}' -H 'Content-Type: application/json' \\
        http://127.0.0.1:8008/v1/messages
    """
    from scoter.web.service.plan import ServiceFolder

    folder = ServiceFolder(Path(directory).absolute())
    if sum(map(bool, (new_key, revoke_key, list_keys))) > 1:
        raise UsageError("--new-key, --revoke-key and --list-keys cannot be combined")
    only_with("--new-key", new_key is not None, "--scopes", "--rate")
    if new_key is not None:
        return _make_key(folder, new_key, scopes, rate)
    if revoke_key is not None:
        return _revoke_key(folder, revoke_key)
    if list_keys:
        return _list_keys(folder)
    if with_keys and without_keys:
        raise UsageError("--with-keys and --without-keys cannot be combined")
    live = invocation().config.live
    return _serve(folder, host or live.host, live.port if port is None else port, with_keys, without_keys)


def _serve(folder: ServiceFolder, host: str, port: int, with_keys: bool, without_keys: bool) -> int:
    from scoter.fetch.protocols.request_headers import user_agent
    from scoter.web.keys import needs_keys
    from scoter.web.server import open_sockets
    from scoter.web.service.keys import known_keys, upgrade_database
    from scoter.web.service.plan import ServicePlan
    from scoter.web.service.process import configure_logging
    from scoter.web.service.supervisor import Supervisor

    options = invocation()
    user_agent(options.config)  # fail here if agent.name is missing, not in a worker process
    folder.create()
    upgrade_database(folder)
    required = needs_keys(host, has_keys=bool(known_keys(folder)), insecure=without_keys, wanted=with_keys)
    level = "DEBUG" if options.debug else "WARNING" if options.quiet else "INFO"
    configure_logging(level)
    plan = ServicePlan(
        config=options.config, root=str(folder.root), needs_keys=required, any_host=without_keys, level=level
    )
    with open_sockets(host, port, options.config.live.lookups) as sockets:
        address = f"http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/"

        def announce() -> None:
            if options.json:
                print_json({"url": address, "dir": plan.root, "keys": required})
                sys.stdout.flush()
            elif not options.quiet:
                note(f"Listening on {address}{' (API key required)' if required else ''}, data in {plan.root}")

        return asyncio.run(Supervisor(plan, sockets, announce).run())


def _make_key(folder: ServiceFolder, name: str, scopes: str, rate: float | None) -> int:
    from scoter.web.service.keys import make_key, parse_scopes

    if rate is not None and math.isnan(rate):
        raise UsageError("this is not a number", where="--rate", hint="For example: --rate 50")
    key, token = asyncio.run(make_key(folder, name, parse_scopes(scopes), rate))
    if invocation().json:
        print_json({**_as_object(key), "token": token})
    else:
        print(token)
        note(f"Created key {key.id} for {name} ({', '.join(key.scopes)}). The token is not shown again.")
    return 0


def _revoke_key(folder: ServiceFolder, key_id: str) -> int:
    from scoter.web.service.keys import known_keys, revoke_key

    if not known_keys(folder) or not asyncio.run(revoke_key(folder, key_id)):
        raise UsageError(
            f"there is no key {key_id!r}", where=str(folder.root), hint="To see the keys: scoter serve --list-keys"
        )
    note(f"Revoked key {key_id}.")
    return 0


def _list_keys(folder: ServiceFolder) -> int:
    from scoter.web.service.keys import known_keys

    found = known_keys(folder)
    for key in found:
        if invocation().json:
            print_json(_as_object(key))
        else:
            used = f"last used {key.last_used:%Y-%m-%d %H:%M}" if key.last_used else "never used"
            print(f"{key.id}  {','.join(key.scopes):17}  {used:27}  {visible(key.name)}")
    if not found:
        note("There are no API keys.")
    return 0 if found else NOTHING_TO_DO


def _as_object(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "rate": key.rate,
        "created": key.created.isoformat(),
        "last_used": key.last_used.isoformat() if key.last_used else None,
    }
