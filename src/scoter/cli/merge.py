"""Commands that merge crawls: merge, and its steps mergedb, mergelinkdb and mergesegs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, AtMost, invocation, remark
from scoter.cli.output import note
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir

_OUT = click.argument("out")
_DIRECTORIES = click.argument("directories", metavar="DIR...", nargs=-1, required=True)
_FILTER = click.option("--filter", is_flag=True, help="Drop URLs that the URL filters reject.")
_NORMALIZE = click.option("--normalize", is_flag=True, help="Run the URLs through the normalisers.")


@click.command("merge")
@_OUT
@_DIRECTORIES
@click.option("--crawldb", is_flag=True, help="Merge the crawldbs, and nothing else that is not named.")
@click.option("--segments", is_flag=True, help="Merge the segments, and nothing else that is not named.")
@click.option("--linkdb", is_flag=True, help="Merge the linkdbs, and nothing else that is not named.")
@_FILTER
@_NORMALIZE
def merge_crawls(
    out: str, directories: tuple[str, ...], crawldb: bool, segments: bool, linkdb: bool, **choices: bool
) -> int:
    """Merge whole crawls into a new one.

    Runs mergedb, mergesegs, and mergelinkdb if every crawl has a linkdb; see their help for which records and pages are
    kept. OUT must be a directory that does not exist yet, or a crawl without such data; the same command continues
    an interrupted merge. To search in OUT, run `scoter index` on it. Exit code 1: there is nothing to merge.

    \b
    Example:
      scoter merge whole part1 part2
      scoter merge urls part1 part2 --crawldb --linkdb
    """
    from scoter.batch.jobs.merge import merge, merge_sources

    given = {"crawldb": crawldb, "segments": segments, "linkdb": linkdb}
    sources = merge_sources(directories, [name for name, is_wanted in given.items() if is_wanted], invocation().config)
    for each in sources.left_out:
        remark(f"Skipped {each.path}: not completely fetched")
    if not sources:
        note("There is no completely fetched segment to merge.")
        return NOTHING_TO_DO
    with crawl_session("merge", out, create=True) as run:
        done = merge(run.crawl, sources, run.engine, run.config, now=run.now, **choices)
    parts = [
        count(done.urls, "URL") if sources.crawldbs else "",
        f"{count(done.pages, 'page')} in {count(len(done.segments), 'segment')}" if sources.segments else "",
        f"inlinks of {count(done.linked_urls, 'URL')}" if sources.linkdbs else "",
    ]
    print_result(done, f"Merged {count(len(directories), 'crawl')}: {', '.join(filter(None, parts))}")
    return 0


@click.command()
@_OUT
@_DIRECTORIES
@_FILTER
@_NORMALIZE
def mergedb(out: str, directories: tuple[str, ...], **choices: bool) -> None:
    """Merge several crawldbs into a new one.

    If a URL has several records, the one fetched last wins; its metadata overrides that of the others. OUT must be a
    directory that does not exist yet, or a crawl without a crawldb.

    \b
    Example:
      scoter mergedb whole part1 part2
    """
    from scoter.batch.crawldir.crawldb import open_crawldb
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.jobs.mergedb import mergedb as merge

    crawls = [CrawlDir.open(each) for each in directories]
    for each in crawls:
        open_crawldb(each, invocation().config).close()
    _merge_tables("mergedb", "crawldb", merge, out, crawls, choices)


@click.command()
@_OUT
@_DIRECTORIES
@_FILTER
@_NORMALIZE
def mergelinkdb(out: str, directories: tuple[str, ...], **choices: bool) -> None:
    """Merge several linkdbs into a new one.

    A URL gets the inlinks from all linkdbs, up to linkdb.max_inlinks. OUT must be a directory that does not exist yet,
    or a crawl without a linkdb.

    \b
    Example:
      scoter mergelinkdb whole part1 part2
    """
    from scoter.batch.crawldir.crawldb import open_linkdb
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.jobs.mergelinkdb import mergelinkdb as merge

    crawls = [CrawlDir.open(each) for each in directories]
    for each in crawls:
        open_linkdb(each).close()
    _merge_tables("mergelinkdb", "linkdb", merge, out, crawls, choices)


def _merge_tables(
    command: str, table: str, merge: Any, out: str, crawls: list[CrawlDir], choices: dict[str, bool]
) -> None:
    with crawl_session(command, out, create=True) as run:
        done = merge(run.crawl, crawls, run.engine, run.config, now=run.now, **choices)
    merged = count(len(crawls), table)
    print_result(done, f"Merged {count(done.records, 'record')} from {merged} into {count(done.urls, 'URL')}")


@click.command()
@_OUT
@_DIRECTORIES
@click.option("--filter", is_flag=True, help="Drop pages and links that the URL filters reject.")
@_NORMALIZE
@click.option("--slice", type=AtMost(min=1), metavar="N", help="Split the result into segments of N URLs.")
def mergesegs(out: str, directories: tuple[str, ...], **choices: Any) -> int:
    """Merge segments into new ones.

    Keeps the newest fetch of each page with its text, links and archived bytes. Drops fetches that will be retried
    and fetches that found a page not modified. DIR is a crawl or one of its segments. OUT must be a directory that does
    not exist yet, or a crawl without segments.

    The crawldbs of these crawls must contain either all of the segments or none. If all, merge the crawldbs into OUT
    with `scoter mergedb`: the result counts as containing the new segments. If none, run `scoter updatedb` on OUT. Exit
    code 1: there is no completely fetched segment.

    \b
    Example:
      scoter mergesegs whole part1 part2
      scoter mergesegs whole mycrawl --slice 100000
    """
    from scoter.batch.jobs.mergesegs import finished_segments
    from scoter.batch.jobs.mergesegs import mergesegs as merge

    segments, left_out = finished_segments(directories)
    for each in left_out:
        remark(f"Skipped {each.path}: not completely fetched")
    if not segments:
        note("There is no completely fetched segment to merge.")
        return NOTHING_TO_DO
    with crawl_session("mergesegs", out, create=True) as run:
        done = merge(run.crawl, segments, run.engine, run.config, now=run.now, **choices)
    merged = f"Merged {count(len(segments), 'segment')} into {', '.join(done.segments)}"
    print_result(done, f"{merged}: {count(done.urls, 'page')}")
    return 0
