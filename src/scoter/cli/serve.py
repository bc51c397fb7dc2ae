"""Run the live service: messages in, what their links are out."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from scoter.cli.invocation import Invocation, invocation
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.live.memory.access import ApiKey
    from scoter.web.service.plan import ServiceFolder


def _setting(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Take an option as the setting that it stands for, before the settings are read."""
    if value is not None:
        name = {"agent": "agent.name", "fetchers": "live.processes", "lookups": "live.lookups"}[parameter.name or ""]
        context.ensure_object(Invocation).override(f"{name}={json.dumps(value)}")


@click.command()
@click.option("--dir", "directory", default="scoter-live", show_default=True, help="Where the service keeps all.")
@click.option("--host", help="Address to listen on (live.host).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port (live.port); 0 takes a free one.")
@click.option("--agent", metavar="NAME", expose_value=False, callback=_setting, help="Who is fetching (agent.name).")
@click.option(
    "--fetchers", type=int, expose_value=False, callback=_setting, help="Fetching processes (live.processes)."
)
@click.option(
    "--lookups", type=int, expose_value=False, callback=_setting, help="Processes that answer lookups (live.lookups)."
)
@click.option("--with-keys", is_flag=True, help="Ask everybody for a key, on this machine, too (behind a proxy).")
@click.option("--without-keys", is_flag=True, help="Let everybody in, even beyond this machine.")
@click.option("--new-key", metavar="NAME", help="Make an API key, print its token, and end.")
@click.option("--scopes", default="read,submit", show_default=True, help="What the new key is for: read,submit,admin.")
@click.option("--rate", type=click.FloatRange(0, 1_000_000, min_open=True), help="Requests a second of the new key.")
@click.option("--revoke-key", metavar="ID", help="Remove an API key, and end.")
@click.option("--list-keys", is_flag=True, help="List the API keys, and end.")
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
    """Run the live service: messages in, what their links are out.

    Everything it keeps lies under one directory. Ctrl-C or SIGTERM ends it; what was accepted and is not done goes on
    with the next start. Beyond this machine it listens only if there is an API key.

    \b
    Example:
      scoter serve --dir live --agent examplebot
      curl -d '{"text": "look at https://example.org/"}' -H 'Content-Type: application/json' \\
        http://127.0.0.1:8008/v1/messages
    """
    from scoter.web.service.plan import ServiceFolder

    folder = ServiceFolder(Path(directory).absolute())
    if sum(map(bool, (new_key, revoke_key, list_keys))) > 1:
        raise UsageError("--new-key, --revoke-key and --list-keys do not go together")
    if new_key is None:
        for name in ("scopes", "rate"):
            if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError("only a new key has it", where=f"--{name}", hint="Name the key with --new-key NAME.")
    else:
        return _make_key(folder, new_key, scopes, rate)
    if revoke_key is not None:
        return _revoke_key(folder, revoke_key)
    if list_keys:
        return _list_keys(folder)
    if with_keys and without_keys:
        raise UsageError("--with-keys and --without-keys do not go together")
    live = invocation().config.live
    where = host or live.host, live.port if port is None else port
    return _serve(folder, *where, insecure=without_keys, wanted=with_keys)


def _serve(folder: ServiceFolder, host: str, port: int, *, insecure: bool, wanted: bool) -> int:
    import asyncio

    from scoter.fetch.protocols.identity import user_agent
    from scoter.web.keys import needs_keys
    from scoter.web.server import open_sockets
    from scoter.web.service.keys import known_keys, upgrade_database
    from scoter.web.service.plan import ServicePlan
    from scoter.web.service.process import configure_logging
    from scoter.web.service.supervisor import Supervisor

    said = invocation()
    user_agent(said.config)  # fails here, and not in a process, where nobody is named
    folder.create()
    upgrade_database(folder)
    required = needs_keys(host, has_keys=bool(known_keys(folder)), insecure=insecure, wanted=wanted)
    level = "DEBUG" if said.debug else "WARNING" if said.quiet else "INFO"
    configure_logging(level)
    plan = ServicePlan(config=said.config, root=str(folder.root), needs_keys=required, any_host=insecure, level=level)
    with open_sockets(host, port, said.config.live.lookups) as sockets:
        address = f"http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/"

        def ready() -> None:
            if said.json:
                print_json({"url": address, "dir": plan.root, "keys": required})
                sys.stdout.flush()
            elif not said.quiet:
                note(f"Listening on {address} with {plan.root}{', for those with a key' if required else ''}.")

        return asyncio.run(Supervisor(plan, sockets, ready).run())


def _make_key(folder: ServiceFolder, name: str, scopes: str, rate: float | None) -> int:
    import asyncio

    from scoter.web.service.keys import make_key, parse_scopes

    if rate is not None and math.isnan(rate):
        raise UsageError("this is not a number", where="--rate", hint="For example: --rate 50")
    key, token = asyncio.run(make_key(folder, name, parse_scopes(scopes), rate))
    if invocation().json:
        print_json({**_shown(key), "token": token})
    else:
        print(token)
        note(f"A key for {name} ({', '.join(key.scopes)}); its id is {key.id}. The token is not shown again.")
    return 0


def _revoke_key(folder: ServiceFolder, identity: str) -> int:
    import asyncio

    from scoter.web.service.keys import known_keys, revoke_key

    if not known_keys(folder) or not asyncio.run(revoke_key(folder, identity)):
        raise UsageError(f"there is no key {identity!r}", where=str(folder.root), hint="--list-keys shows them.")
    note(f"The key {identity} is of no use any more.")
    return 0


def _list_keys(folder: ServiceFolder) -> int:
    from scoter.web.service.keys import known_keys

    found = known_keys(folder)
    for key in found:
        if invocation().json:
            print_json(_shown(key))
        else:
            used = f"last used {key.last_used:%Y-%m-%d %H:%M}" if key.last_used else "never used"
            print(f"{key.id}  {','.join(key.scopes):17}  {used:27}  {visible(key.name)}")
    if not found:
        note("There are no keys.")
    return 0 if found else 1


def _shown(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "rate": key.rate,
        "created": key.created.isoformat(),
        "last_used": key.last_used.isoformat() if key.last_used else None,
    }
