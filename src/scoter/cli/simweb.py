"""Serve a synthetic web on loopback, for trials, tests and benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json

if TYPE_CHECKING:
    from scoter.simweb import SimServer, SimWeb


@click.command()
@click.option("--port", type=int, default=8642, show_default=True, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--hosts", type=int, default=20, show_default=True, help="Hosts that the pages are spread over.")
@click.option("--pages", type=int, default=500, show_default=True, help="Ordinary pages in all.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same web.")
@click.option("--faults", is_flag=True, help="Add hosts that fail in every way a server can.")
@click.option("--links", type=int, default=10, show_default=True, help="Links of a page to anywhere in the web.")
@click.option("--page-bytes", type=int, default=8192, show_default=True, help="Mean size of a page.")
@click.option("--latency", type=float, default=0.0, show_default=True, help="Seconds before each answer.")
@click.option("--write", type=click.Path(path_type=Path), help="Write the static part there for nginx, and end.")
def command(
    port: int,
    hosts: int,
    pages: int,
    seed: int,
    faults: bool,
    links: int,
    page_bytes: int,
    latency: float,
    write: Path | None,
) -> None:
    """Serve a synthetic web on loopback, for trials, tests and benchmarks.

    All its hosts are on one port and told apart by the Host header. Its reserved host control.simweb.test answers,
    as JSON, the ledger of all requests and the truth about every URL.

    \b
    Example:
      scoter simweb --hosts 50 --pages 2000 --faults
      curl -H 'Host: control.simweb.test' http://127.0.0.1:8642/
    """
    from scoter.simweb import SimWeb, WebSpec, export, run_forever

    said = invocation()
    web = SimWeb(
        WebSpec(hosts=hosts, pages=pages, seed=seed, faults=faults, links=links, page_bytes=page_bytes, latency=latency)
    )
    if write is None:
        run_forever(web, port, None if said.quiet else _announce)
        return
    written = export(web, write, port)
    if said.json:
        print_json(written)
    else:
        note(f"{written.files:,} files, {written.bytes:,} bytes, {written.redirects} redirects in {write}")
        note(f"Serve it: nginx -p {write} -c {written.config.name}")


def _announce(server: SimServer) -> None:
    from scoter.simweb import CONTROL

    if invocation().json:
        print_json({"port": server.port, "control": CONTROL, "seed": _first_seed(server.web)})
        sys.stdout.flush()
        return
    note(f"A web on http://{server.address}/, by Host header. Ctrl-C ends it.")
    note(f"  start at   {_first_seed(server.web)}")
    note(
        f"  crawl it   scoter crawl mycrawl {_first_seed(server.web)} --agent examplebot --scope any"
        f" -D fetch.delay=0s -D 'fetch.connect_to=[\"*:80={server.address}\"]'"
    )
    note(f"  look into  curl -H 'Host: {CONTROL}' http://{server.address}/")


def _first_seed(web: SimWeb) -> str:
    return next(iter(web.seeds()))
