"""Serve the crawls below a folder: a web interface and a REST API to start, watch, stop and read them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.api_keys import key_options, manage_keys, without_keys_warning
from scoter.cli.invocation import Invocation, invocation
from scoter.cli.output import print_json, server_note

if TYPE_CHECKING:
    from scoter.config import Config

_PORT = 8010


@click.command()
@click.argument("folder", metavar="FOLDER")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen on, 0 for any free port.",
)
@key_options
def command(folder: str, host: str, port: int, **keys: Any) -> int:
    """Serve the crawls below a folder over HTTP.

    Open its address in a browser for the web interface. The REST API starts, watches and stops crawls and reads what
    they found; /v1/openapi.json describes it. Settings given here apply to every job. Jobs run in their own processes
    and go on when the server ends. It listens on addresses other than loopback only if there is an API key. What it
    stores is in FOLDER/.scoter.

    \b
    Example:
      scoter ui crawls -D agent.name=examplebot
      curl http://127.0.0.1:8010/v1/crawls
    """
    from scoter.batch.api.crawl_folder import CrawlFolder
    from scoter.live.service.plan import ServiceFolder

    crawls = CrawlFolder(Path(folder))
    crawls.create()
    store = ServiceFolder(crawls.state)
    done = manage_keys("ui", store, **keys)
    if done is not None:
        return done

    from scoter.batch.api.app import BatchServer
    from scoter.cli.job_commands import ClickCatalogue
    from scoter.http.access import needs_keys
    from scoter.http.logs import configure_logging
    from scoter.http.server import open_sockets
    from scoter.http.sessions import Sessions
    from scoter.live.service.api_keys import known_keys, upgrade_database
    from scoter.live.sqlite.access import SqliteKeys
    from scoter.live.sqlite.database import ServiceDb

    options = invocation()
    upgrade_database(store)
    required = needs_keys(
        host, has_keys=bool(known_keys(store)), insecure=keys["without_keys"], wanted=keys["with_keys"]
    )
    level = "DEBUG" if options.debug else "WARNING" if options.quiet else "INFO"
    configure_logging(level, options.config.web.log_format)
    with open_sockets(host, port, 1) as sockets, closing(ServiceDb(store.database)) as database:
        server = BatchServer(
            crawls,
            ClickCatalogue(options),
            _program(options),
            _configuration(options, crawls.root),
            api_keys=SqliteKeys(database),
            sessions=Sessions(store.sessions),
            needs_keys=required,
            any_host=keys["without_keys"],
        )
        address = f"http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/"

        def announce() -> None:
            if options.json:
                print_json({"url": address, "folder": str(crawls.root), "keys": required})
                sys.stdout.flush()
            elif not options.quiet:
                server_note(
                    f"Listening on {address}{' (API key required)' if required else ''}, crawls in {crawls.root}",
                    options.config.web.log_format,
                )
                if not required:
                    server_note(without_keys_warning("ui", anybody=keys["without_keys"]), options.config.web.log_format)

        return asyncio.run(server.run(sockets, announce))


def _program(options: Invocation) -> Sequence[str]:
    """Return the start of every job's command line; its settings are in its environment."""
    given = [] if options.config_file is None else ["-c", str(options.config_file.absolute())]
    given += ["--trust-settings"] if options.trust_settings else []
    return [sys.executable, "-m", "scoter.cli.main", *given]


def _configuration(options: Invocation, root: Path) -> Callable[[str], Config]:
    """Return a function that returns the configuration of a crawl."""

    def config(name: str) -> Config:
        own = Invocation()
        own.quiet = True
        own.config_file, own.overrides = options.config_file, list(options.overrides)
        own.trust_settings = options.trust_settings
        if name:
            own.use_crawl(str(root / name))
        return own.config

    return config
