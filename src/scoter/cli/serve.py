"""Run the live service."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.api_keys import key_options, manage_keys, without_keys_warning
from scoter.cli.former_names import ChoiceWithFormerValues, CommandWithFormerOptions
from scoter.cli.invocation import agent_option, invocation, log_option, setting_option
from scoter.cli.output import print_json, server_note

if TYPE_CHECKING:
    from scoter.live.service.plan import ServiceFolder


@click.command(cls=CommandWithFormerOptions, formerly={"--fetchers": "--workers"})
@click.option(
    "--dir", "directory", default="scoter-live", show_default=True, help="Directory for everything the service stores."
)
@click.option("--host", help="Address to listen on (live.host).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on, 0 for any free port (live.port).")
@agent_option
@setting_option("--workers", "live.processes", "Number of workers, the processes that fetch", kind=int)
@setting_option("--lookups", "live.lookups", "Number of processes that answer lookups", kind=int)
@click.option(
    "--role",
    type=ChoiceWithFormerValues(["all", "api", "pipeline", "worker"], {"fetcher": "worker"}),
    default="all",
    show_default=True,
    help='Part of the service to run here; a single part needs live.backend = "cluster".',
)
@log_option
@key_options
def command(
    directory: str,
    host: str | None,
    port: int | None,
    role: str,
    **keys: Any,
) -> int:
    """Run the live service.

    Clients submit messages; the service fetches the URLs in them and reports what they are. Everything it stores is in
    one directory. Ctrl-C or SIGTERM stops it; accepted URLs that are not done continue at the next start. It
    listens on addresses other than loopback only if there is an API key.

    With live.backend = "cluster", the service runs on several machines: start each of its parts, any number of times,
    with --role. They share their data through Kafka and Cassandra.

    \b
    Example:
      scoter serve --dir live --agent examplebot
      curl -d '{"text": "look at https://example.org/"}' -H 'Content-Type: application/json' \\
        http://127.0.0.1:8008/v1/messages
      scoter -D live.backend=cluster serve --role pipeline --dir live --agent examplebot
    """
    from scoter.live.service.plan import ServiceFolder

    folder = ServiceFolder(Path(directory).absolute())
    if (invocation().config.live.backend == "cluster") is not (role != "all"):
        return _serve_wrong_role(role)
    if role != "all":
        from scoter.cli.cluster import serve_role

        live = invocation().config.live
        return serve_role(folder, role, host or live.host, live.port if port is None else port, **keys)
    done = manage_keys("serve", folder, **keys)
    if done is not None:
        return done
    live = invocation().config.live
    return _serve(
        folder,
        host or live.host,
        live.port if port is None else port,
        keys["with_keys"],
        keys["without_keys"],
    )


def _serve_wrong_role(role: str) -> int:
    from scoter.errors import UsageError

    if role == "all":
        raise UsageError(
            'live.backend = "cluster" needs a role',
            where="--role",
            hint="Start the parts of the service with --role api, --role pipeline and --role worker.",
        )
    raise UsageError(
        'a single part of the service needs live.backend = "cluster"',
        where=f"--role {role}",
        hint="Without --role, the whole service runs on this machine.",
    )


def _serve(folder: ServiceFolder, host: str, port: int, with_keys: bool, without_keys: bool) -> int:
    from scoter.fetch.protocols.request_headers import user_agent
    from scoter.http.access import needs_keys
    from scoter.http.logs import configure_logging
    from scoter.http.server import open_sockets
    from scoter.live.service.api_keys import known_keys, upgrade_database
    from scoter.live.service.plan import ServicePlan
    from scoter.live.service.supervisor import Supervisor

    options = invocation()
    user_agent(options.config)  # fail here if agent.name is missing, not in a worker process
    folder.create()
    upgrade_database(folder)
    required = needs_keys(host, has_keys=bool(known_keys(folder)), insecure=without_keys, wanted=with_keys)
    level = "DEBUG" if options.debug else "WARNING" if options.quiet else "INFO"
    configure_logging(level, options.config.web.log_format)
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
                server_note(
                    f"Listening on {address}{' (API key required)' if required else ''}, data in {plan.root}",
                    options.config.web.log_format,
                )
                if not required:
                    server_note(without_keys_warning("serve", anybody=without_keys), options.config.web.log_format)

        return asyncio.run(Supervisor(plan, sockets, announce).run())
