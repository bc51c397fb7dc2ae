"""Commands for search indexes: index, clean and search."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json, visible
from scoter.cli.results import print_result, print_table
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count

if TYPE_CHECKING:
    from scoter.batch.jobs.index import IndexResult
    from scoter.index.explanation import ScoreExplanation, ScorePart
    from scoter.index.search import SearchHit, SearchPage

_STDERR = 2
_INDENT = "     "
_PART_COLUMNS = ("word", "field", "terms", "frequency", "idf", "length", "bm25", "weight", "score")
_MARK = re.compile(r"</?b>")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Only count the documents.")


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--force", is_flag=True, help="Write all documents again.")
@_DRY_RUN
def index(directory: str, force: bool, dry_run: bool) -> None:
    """Write the pages of a crawl to its search indexes.

    Only what changed since the last run is written: pages that were fetched again, whose score changed by half, or
    that got new anchor texts. Pages that are gone, redirected, duplicates or noindex are deleted. The setting
    index.writers names the indexes; by default it is one in the crawl directory, for `scoter search`.

    \b
    Example:
      scoter index mycrawl
      scoter index mycrawl -D index.writers='["tantivy", "jsonl"]'
    """
    _run("index", directory, dry_run, force=force)


@click.command()
@click.argument("directory", metavar="DIR")
@_DRY_RUN
def clean(directory: str, dry_run: bool) -> None:
    """Delete pages that are gone from the search indexes.

    Pages that are gone, redirected, duplicates or noindex are deleted. `scoter index` does the same unless index.delete
    is off.

    \b
    Example:
      scoter clean mycrawl
    """
    _run("clean", directory, dry_run, only_delete=True)


def _run(command: str, directory: str, dry_run: bool, *, force: bool = False, only_delete: bool = False) -> None:
    with crawl_session(command, directory) as session:
        from scoter.batch.jobs.index import index as run

        done = run(
            session.crawl,
            session.engine,
            session.config,
            now=session.now,
            force=force,
            only_delete=only_delete,
            dry_run=dry_run,
            on_progress=lambda done, total: report_progress(session, done, total),
            on_main_text=main_text_progress(session),
        )
    print_result(done, describe(done, dry_run))
    for rejection in done.rejections:
        note(f"Rejected: {visible(rejection)}")


def report_progress(session: CrawlSession, done: int, total: int) -> None:
    """Show how far a run is, to people and to programs."""
    session.status.show(f"index  {done:,} of {count(total, 'document')}")
    session.progress.add("index", share=round(done / max(total, 1), 4), done=done, total=total)


def main_text_progress(session: CrawlSession) -> Callable[[int, int], None]:
    """Return what shows how many pages have got the main text that the crawl did not store."""
    from scoter.cli.export import ShardStatus

    status = ShardStatus(session, label="main text")

    def report(done: int, total: int) -> None:
        status(done, total)
        session.progress.add("main text", share=round(done / max(total, 1), 4), done=done, total=total)

    return report


def describe(done: IndexResult, dry_run: bool = False) -> str:
    """Say what a run did."""
    wrote, deleted = ("Would write", "delete") if dry_run else ("Wrote", "deleted")
    left_out = f"; filters left out {done.left_out:,}" if done.left_out else ""
    unrouted = f"; {done.unrouted:,} without a route" if done.unrouted else ""
    rejected = f"; {count(done.rejected, 'document')} rejected" if done.rejected else ""
    rebuilt = " (all of them, because settings changed, or the index was incomplete or damaged)" if done.rebuilt else ""
    rest = left_out + unrouted + rejected
    return f"{wrote} {count(done.written, 'document')}{rebuilt} and {deleted} {done.deleted:,}{rest}"


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N", help="Results to show."
)
@click.option("--page", type=click.IntRange(1, 100), default=1, show_default=True, metavar="N", help="Page of results.")
@click.option("--explain", is_flag=True, help="Show which fields match, and how each score was computed.")
def search(directory: str, query: tuple[str, ...], limit: int, page: int, explain: bool) -> None:
    """Search the pages of a crawl.

    Run `scoter index` first. A query has words, "exact phrases", -excluded words, and operators: site: (also with a
    path), host:, lang:, filetype:, type:, intitle:, inurl:, after:, before: and sort:date. Write -- before a query that
    begins with a dash. With --json there is one result per line.

    \b
    Example:
      scoter search mycrawl grey seals
      scoter search mycrawl -- git rebase --onto
      scoter search mycrawl '"grey seals" site:example.org -zoo after:2026-01' --json
    """
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.index.search import Searcher

    crawl = CrawlDir.open(directory)
    with _panics_unreported():
        found = Searcher.of_crawl(crawl.local_path("the embedded search index")).search(
            " ".join(query), limit=limit, offset=(page - 1) * limit, explain=explain
        )
    if invocation().json:
        for hit in found.hits:
            print_json(hit)
    else:
        _show(found, (page - 1) * limit)
    for notice in found.notices:
        note(f"Note: {visible(notice)}")
    if found.suggestion and not found.corrected:
        note(f"Did you mean: {visible(found.suggestion)}")
    if not found.hits:
        raise click.exceptions.Exit(1)


@contextmanager
def _panics_unreported() -> Iterator[None]:
    """Keep tantivy from printing where in its code it failed on a damaged index; an error says that it is damaged."""
    try:
        sys.stderr.flush()
        saved = os.dup(_STDERR)
    except (OSError, ValueError):  # closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STDERR)
        yield
    finally:
        os.dup2(saved, _STDERR)
        os.close(saved)
        os.close(nowhere)


def _show(found: SearchPage, offset: int) -> None:
    if found.corrected:
        click.echo(f"No page matches {visible(found.query)!r}. Results for {visible(found.suggestion)!r}:\n")
    if found.partial:
        click.echo("No page has all of the words. Pages with most of them:\n")
    click.echo(count(found.total, "page") if found.total else "No page matches.")
    for number, hit in enumerate(found.hits, offset + 1):
        path = "".join(f" › {visible(each)}" for each in hit.section)
        click.echo(f"\n{number:>3}. " + click.style(visible(hit.title), bold=True) + path)
        click.echo(f"     {visible(hit.link)}")
        if hit.snippet:
            click.echo(_indented(hit))
        click.echo(f"     {_facts(hit)}")
        if hit.explanation is not None:
            click.echo(textwrap.indent("\n".join(_explained(hit, hit.explanation)), _INDENT))
            if hit.explanation.parts:
                print_table(map(_score_row, hit.explanation.parts), _PART_COLUMNS, indent=_INDENT)


def _indented(hit: SearchHit) -> str:
    import html

    plain = visible(html.unescape(_MARK.sub("", hit.snippet)))
    words = {html.unescape(word) for word in re.findall(r"<b>(.*?)</b>", hit.snippet)}
    lines = textwrap.wrap(plain, 90)[:3]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    if pattern:
        lines = [re.sub(pattern, lambda each: click.style(each[0], bold=True), line) for line in lines]
    return "\n".join(f"     {line}" for line in lines)


def _facts(hit: SearchHit) -> str:
    facts = [
        hit.date.date().isoformat() if hit.date else "",
        hit.lang,
        hit.type,
        f"score {hit.score:.2f}" if hit.score else "",
        f"{hit.more_from_host} more from this host" if hit.more_from_host else "",
    ]
    return " · ".join(filter(None, facts))


def _explained(hit: SearchHit, why: ScoreExplanation) -> Iterator[str]:
    """Yield the lines of an explanation, apart from the table of its parts."""
    if why.order == "date":
        yield "ordered by date; scores do not count"
    else:
        yield f"score {hit.score:.4f} = text {why.text_score:.4f} × links {why.link_factor:.4f}"
        yield f"link score {why.link_score:g}, which changes the score by a quarter at most"
    if why.filters:
        yield f"matches {visible(' '.join(why.filters))}, which does not change the score"
    if hit.more_from_host:
        yield f"{count(hit.more_from_host, 'more page')} of this host not shown; site: or host: shows all"
    if why.hidden_copies:
        yield f"{count(why.hidden_copies, 'near-copy', 'near-copies')} not shown:"
        yield from (f"  {visible(url)}" for url in why.copies)


def _score_row(part: ScorePart) -> dict[str, str]:
    values = {name: getattr(part, name) for name in _PART_COLUMNS}
    return {name: value if isinstance(value, str) else f"{value:g}" for name, value in values.items()}
