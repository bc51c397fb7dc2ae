"""Serve a synthetic web on loopback for trials, tests and benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json
from scoter.core.display import count, size

if TYPE_CHECKING:
    from scoter.simweb import SimServer


@click.command()
@click.option("--port", type=int, default=8642, show_default=True, help="Port on 127.0.0.1, 0 for any free port.")
@click.option("--hosts", type=int, default=20, show_default=True, help="Number of hosts.")
@click.option("--pages", type=int, default=500, show_default=True, help="Number of ordinary pages in total.")
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed; the same seed gives the same web.")
@click.option("--faults", is_flag=True, help="Add hosts with every kind of fault.")
@click.option("--links", type=int, default=10, show_default=True, help="Links per page to anywhere in the web.")
@click.option("--page-bytes", type=int, default=8192, show_default=True, help="Mean size of a page.")
@click.option("--latency", type=float, default=0.0, show_default=True, help="Seconds before each response.")
@click.option(
    "--write", type=click.Path(path_type=Path), help="Write the static pages to a folder for nginx, and exit."
)
def command(port: int, write: Path | None, **spec: Any) -> None:
    """Serve a synthetic web on loopback for trials, tests and benchmarks.

    All hosts share one port; the Host header selects one. The host control.simweb.test returns JSON: a log of all
    requests, and the expected result for every URL.

    \b
    Example:
      scoter simweb --hosts 50 --pages 2000 --faults
      curl -H 'Host: control.simweb.test' http://127.0.0.1:8642/
    """
    from scoter.simweb import SimWeb, WebSpec, export, run_forever

    options = invocation()
    web = SimWeb(WebSpec(**spec))
    if write is None:
        run_forever(web, port, None if options.quiet else _announce)
        return
    written = export(web, write, port)
    if options.json:
        print_json(written)
    else:
        files = f"{count(written.files, 'file')} ({size(written.bytes)}) and {count(written.redirects, 'redirect')}"
        note(f"Wrote {files} to {write}")
        note(f"To serve them: nginx -p {write} -c {written.config.name}")


def _announce(server: SimServer) -> None:
    from scoter.simweb import CONTROL

    seed = next(iter(server.web.seeds()))
    if invocation().json:
        print_json({"port": server.port, "control": CONTROL, "seed": seed})
        sys.stdout.flush()
        return
    note(f"Serving a synthetic web on http://{server.address}/. Press Ctrl-C to stop.")
    note(f"  seed      {seed}")
    note(
        f"  crawl     scoter crawl mycrawl {seed} --agent examplebot --scope any"
        f" -D fetch.delay=0s -D 'fetch.connect_to=[\"*:80={server.address}\"]'"
    )
    note(f"  inspect   curl -H 'Host: {CONTROL}' http://{server.address}/")
