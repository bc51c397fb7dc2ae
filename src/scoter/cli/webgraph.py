"""Commands on the link graph: webgraph, readwebgraph and nodedumper."""

from __future__ import annotations

from typing import Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, Decorator, invocation
from scoter.cli.output import note, print_json
from scoter.cli.results import print_facts, print_result, print_rows
from scoter.cli.session import crawl_session
from scoter.core.display import count

_ENGINE_SHARE = 0.7
_VALUES = ("inlinks", "outlinks", "score", "pagerank", "harmonic")


def graph_option(*names: str) -> Decorator:
    """Return the option ``--graph``."""
    return click.option("--graph", type=click.Choice(names), default="page", show_default=True, help="Which graph.")


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
@click.option("--filter/--no-filter", default=False, help="Apply the URL filters (default: no).")
@click.option("--normalize/--no-normalize", default=False, help="Apply the URL normalisers (default: no).")
@click.option("--rebuild", is_flag=True, help="Drop the links of all other segments, and add all segments again.")
def webgraph(directory: str, segments: tuple[str, ...], rebuild: bool, **choices: bool) -> int:
    """Update the link graph from parsed segments.

    Without SEGMENT, all parsed segments that are not in the link graph yet are added. The newest version of a page
    replaces its links.

    Exit code 1: there is no such segment.

    \b
    Example:
      scoter webgraph mycrawl
      scoter webgraph mycrawl --rebuild -D link.ignore_internal_host=false -D link.ignore_internal_domain=false
    """
    with crawl_session("webgraph", directory) as session:
        from scoter.batch.jobs.webgraph import is_up_to_date, pending
        from scoter.batch.jobs.webgraph import webgraph as update

        crawl = session.crawl
        chosen = [crawl.segment(name) for name in segments] or pending(crawl, rebuild=rebuild)
        if not chosen and is_up_to_date(crawl, session.config):
            note("There is no parsed segment that is not in the link graph yet.")
            return NOTHING_TO_DO
        session.memory_share = _ENGINE_SHARE
        done = update(crawl, session.engine, session.config, chosen, now=session.now, rebuild=rebuild, **choices)
    graph = f"{count(done.nodes, 'node')}, {count(done.links, 'link')}"
    for name in done.lost_segments if rebuild else ():
        note(f"Segment {name} no longer exists: its links left the graph.")
    added = f"Added {count(len(done.segments), 'segment')} to the link graph"
    if done.removed:
        added += f" and removed {count(done.removed, 'page')} that left the crawldb"
    print_result(done, f"{added}: {graph}")
    return 0


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--url", metavar="U", help="Show this URL (or host, or domain) and its neighbours.")
@click.option(
    "--limit", type=click.IntRange(1), default=100, show_default=True, help="Links to show in each direction."
)
@graph_option("page", "host", "domain")
def readwebgraph(directory: str, url: str | None, limit: int, graph: Any) -> int:
    """Show a node of the link graph and its neighbours.

    Without --url, show the number of nodes and links. With --graph host or domain, --url names a host or a domain.

    Exit code 1: the graph does not have this node.

    \b
    Example:
      scoter readwebgraph mycrawl
      scoter readwebgraph mycrawl --url https://example.org/
    """
    from scoter.batch.jobs.readwebgraph import read_node, sizes

    with crawl_session("readwebgraph", directory, lock=False) as session:
        if url is None:
            print_rows(sizes(session.crawl), ["graph", "nodes", "links"])
            return 0
        found = read_node(session.crawl, url, graph=graph, limit=limit)
        if found is None:
            note(f"The {'link' if graph == 'page' else graph} graph does not have {url}")
            return NOTHING_TO_DO
    if invocation().json:
        print_json(found)
        return 0
    print_facts({name: value for name, value in found.node.items() if value is not None})
    for title, rows in (("Links to it", found.inlinks), ("Links from it", found.outlinks)):
        if rows:
            click.echo(f"\n{title}")
            print_rows(rows, list(rows[0]), "table")
    return 0


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--by", type=click.Choice(_VALUES), default="score", show_default=True, help="What to sort by.")
@click.option("--top-n", type=click.IntRange(1), metavar="N", help="Show only the first N.")
@click.option("--group", type=click.Choice(["host", "domain"]), help="Show hosts or domains instead of pages.")
@click.option(
    "--aggregate", type=click.Choice(["sum", "max"]), default="sum", show_default=True, help="How a group is counted."
)
@graph_option("page", "host", "domain")
def nodedumper(directory: str, by: Any, top_n: int | None, group: Any, aggregate: Any, graph: Any) -> None:
    """List the nodes with the most links or the highest ranks.

    \b
    Example:
      scoter nodedumper mycrawl --top-n 10 --by inlinks
      scoter nodedumper mycrawl --by score --group domain --json
    """
    from scoter.batch.jobs.nodedumper import nodedumper as dump

    with crawl_session("nodedumper", directory, lock=False) as session:
        found = dump(session.crawl, session.engine, by=by, top_n=top_n, group=group, aggregate=aggregate, graph=graph)
        print_rows(found, [by, "url"] if group is None else [by, "pages", group])
