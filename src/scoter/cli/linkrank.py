"""Commands on ranks: linkrank and scoreupdater."""

from __future__ import annotations

from typing import Any

import click

from scoter.cli.invocation import only_with
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.cli.webgraph import graph_option
from scoter.core.display import count

_algorithm = click.option(
    "--algorithm",
    type=click.Choice(["linkrank", "pagerank", "harmonic"]),
    default="linkrank",
    show_default=True,
    help="Which ranks.",
)


@click.command()
@click.argument("directory", metavar="DIR")
@_algorithm
@graph_option("page", "host", "domain")
@click.option(
    "--iterations",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Iterations of linkrank (default: link.analyze_num_iterations).",
)
@click.option(
    "--tolerance",
    type=float,
    default=1e-6,
    show_default=True,
    metavar="T",
    help="End pagerank when all ranks together change by no more than this.",
)
@click.option(
    "--no-loops", "loops", is_flag=True, default=True, flag_value=False, help="Ignore links of a node to itself."
)
@click.option(
    "--no-reciprocal",
    "reciprocal",
    is_flag=True,
    default=True,
    flag_value=False,
    help="Ignore links between nodes that link to each other.",
)
def linkrank(directory: str, algorithm: Any, graph: Any, **options: Any) -> None:
    """Compute ranks over the link graph.

    The ranks are written to the nodes of the graph: linkrank to the column score, the others to columns of their names.

    \b
    Example:
      scoter linkrank mycrawl
      scoter linkrank mycrawl --algorithm pagerank --graph host
    """
    only_with("--algorithm linkrank", algorithm == "linkrank", "--iterations")
    only_with("--algorithm pagerank", algorithm == "pagerank", "--tolerance")
    with crawl_session("linkrank", directory) as session:
        from scoter.batch.jobs.linkrank import RankOptions
        from scoter.batch.jobs.linkrank import linkrank as rank

        done = rank(
            session.crawl,
            session.config,
            now=session.now,
            algorithm=algorithm,
            graph=graph,
            options=RankOptions(**options),
        )
    size = f"{count(done.nodes, 'node')} and {count(done.links, 'link')}"
    print_result(done, f"Computed {algorithm} over {size} in {count(done.iterations, 'iteration')}")


@click.command()
@click.argument("directory", metavar="DIR")
@_algorithm
def scoreupdater(directory: str, algorithm: Any) -> None:
    """Write ranks to the scores of the crawldb.

    URLs that are not in the link graph get the score link.score_updater_clear_score. Use the scoring filter link
    (scoring.filters) afterwards: the filter opic would change the scores with every update.

    \b
    Example:
      scoter scoreupdater mycrawl
    """
    with crawl_session("scoreupdater", directory) as session:
        from scoter.batch.jobs.scoreupdater import scoreupdater as update

        done = update(session.crawl, session.engine, session.config, now=session.now, algorithm=algorithm)
    rest = f"{done.cleared:,} not in the link graph"
    print_result(done, f"Updated the scores of the crawldb: {count(done.ranked, 'URL')} ranked, {rest}")
