"""Merge segments into new ones."""

from __future__ import annotations

import click

from scoter.cli.invocation import AtMost, invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json


@click.command()
@click.argument("out")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True)
@click.option("--filter", "filters", is_flag=True, help="Drop pages and links that the URL filters do not keep.")
@click.option("--normalize", "normalizes", is_flag=True, help="Normalise the URLs once more.")
@click.option("--slice", "most", type=AtMost(min=1), metavar="N", help="Make segments of at most N URLs.")
def command(out: str, directories: tuple[str, ...], filters: bool, normalizes: bool, most: int | None) -> int:
    """Merge segments into new ones.

    Of each page the newest fetch stays, with its text, links and archived bytes; fetches to be tried again and those
    that found a page unmodified go. DIR is a crawl, or one of its segments; OUT is a directory that does not exist yet,
    or a crawl without segments. Where a crawldb lies beside the segments, it has all of them in it, or none: the new
    ones then count as being in what scoter mergedb makes of those crawldbs, or are brought in by scoter updatedb.
    Exit code 1: no segment is fetched to its end.

    \b
    Example:
      scoter mergesegs whole part1 part2
      scoter mergesegs whole mycrawl --slice 100000
    """
    from scoter.batch.mergesegs import finished_segments, mergesegs

    said = invocation()
    segments, left_out = finished_segments(directories)
    for each in () if said.quiet else left_out:
        note(f"left out, since it is not fetched to its end: {each.path}")
    if not segments:
        note("there is no segment to be merged")
        return 1
    with working("mergesegs", out, create=True) as work:
        done = mergesegs(
            work.crawl,
            segments,
            work.engine,
            work.config,
            now=work.now,
            filter=filters,
            normalize=normalizes,
            slice=most,
        )
    if said.json:
        print_json(done)
    else:
        click.echo(f"{len(segments)} segments merged into {', '.join(done.segments)}: {done.urls:,} pages")
    return 0
