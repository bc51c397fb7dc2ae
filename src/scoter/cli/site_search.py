"""Commands for the search box of a website: search-server and search-site."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import print_json, server_note

_PORT = 8020
_map_url = click.option(
    "--map-url",
    "addresses",
    nargs=2,
    multiple=True,
    metavar="OLD NEW",
    help="Replace the start of addresses, if readers see the site elsewhere than it was crawled. Repeatable.",
)


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="Port to listen on, 0 for any free port.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin whose pages may search, such as https://docs.example; * for all. Repeatable.",
)
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Reverse proxy, or network of such, that says in X-Forwarded-For who asks. Repeatable.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 1000),
    default=5.0,
    show_default=True,
    metavar="N",
    help="Searches per second from one address.",
)
@_map_url
def search_server(
    directory: str,
    host: str,
    port: int,
    origins: tuple[str, ...],
    proxies: tuple[str, ...],
    rate: float,
    addresses: Sequence[tuple[str, str]],
) -> int:
    """Serve the search of a crawl to everybody.

    It answers searches and serves a search box for a website, and nothing else: it has no keys and no cookies, writes
    nothing, and does not know other crawls. Pages of other origins may only search if --origin names theirs. Run
    `scoter index` first; when it has renewed the index, the server uses the new one.

    \b
    Example:
      scoter search-server mycrawl --origin https://docs.example
      curl 'http://127.0.0.1:8020/v1/search?q=grey+seals'
    """
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.http.access import is_loopback
    from scoter.http.logs import configure_logging
    from scoter.http.server import open_sockets
    from scoter.sitesearch.gate import PublicRules, check_origins, check_proxies
    from scoter.sitesearch.hits import AddressMap
    from scoter.sitesearch.open_index import OpenIndex
    from scoter.sitesearch.server import SearchServer

    options = invocation()
    crawl = CrawlDir.open(directory)
    rules = PublicRules(origins=check_origins(origins), rate=rate, only_local=is_loopback(host) and not proxies)
    trusted, mapped = check_proxies(proxies), AddressMap(addresses)
    index = OpenIndex(Path(crawl.local_path("the embedded search index")) / "index")
    level = "DEBUG" if options.debug else "WARNING" if options.quiet else "INFO"
    configure_logging(level, options.config.web.log_format)
    server = SearchServer(index, rules, addresses=mapped, proxies=trusted, web=options.config.web)
    with open_sockets(host, port, 1) as sockets:
        address = f"http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/"

        def announce() -> None:
            if options.json:
                print_json({"url": address, "pages": index.pages, "origins": sorted(rules.origins)})
                sys.stdout.flush()
            elif not options.quiet:
                server_note(f"Listening on {address}, which also shows the search box", options.config.web.log_format)
                server_note(
                    _exposed(index.pages, rules.origins, is_local=is_loopback(host)), options.config.web.log_format
                )

        return asyncio.run(server.run(sockets, announce))


def _exposed(pages: int, origins: frozenset[str], *, is_local: bool) -> str:
    """Say who can find out what."""
    who = "Everybody on this machine" if is_local else "Everybody who reaches this address"
    sites = "of any site" if "*" in origins else f"of {', '.join(sorted(origins))}" if origins else "of no other site"
    return (
        f"{who} can search {pages:,} pages and see their titles, addresses and excerpts; nothing else, and nothing can "
        f"be changed. Web pages {sites} can do so, too."
    )


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--out", required=True, metavar="FOLDER", help="Folder to write; one that this command made is replaced.")
@_map_url
def search_site(directory: str, out: str, addresses: Sequence[tuple[str, str]]) -> None:
    """Write the search of a crawl to files, which need no server.

    The folder has an index in many small files, of which a browser loads a few for each search, the search box, and a
    page that shows it. Publish it with the site, at any path. Run `scoter index` first, and this again after it.

    \b
    Example:
      scoter search-site mycrawl --out public/search
    """
    from scoter.cli.results import print_result
    from scoter.cli.session import crawl_session
    from scoter.core.display import count, size
    from scoter.sitesearch.hits import AddressMap
    from scoter.sitesearch.site_files import write_site_files

    mapped = AddressMap(addresses)
    with crawl_session("search-site", directory, lock=False) as session:
        done = write_site_files(
            Path(session.crawl.local_path("the embedded search index")) / "index",
            Path(out),
            addresses=mapped,
            on_progress=lambda done, total: session.status.show(f"search-site  {done:,} of {count(total, 'page')}"),
        )
    print_result(
        done,
        f"Wrote {count(done.pages, 'page')} and {count(done.terms, 'term')} to {out}: {count(done.files, 'file')}, "
        f"{size(done.bytes)}",
    )
