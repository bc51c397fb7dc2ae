"""Show the crawldb: statistics, one URL, the top URLs, or a dump."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, AtMost, invocation, only_with
from scoter.cli.output import note, print_json
from scoter.cli.results import dump_format, print_facts, print_rows, print_table, write_dump
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count
from scoter.errors import UsageError, typed

if TYPE_CHECKING:
    from scoter.batch.jobs.readdb import ColumnRange, CrawldbStats, RecordFilter


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--stats", "wants_stats", is_flag=True, help="Count URLs by status, retries and host.")
@click.option("--sort", "by_host", is_flag=True, help="With --stats: also list every host with its statuses.")
@click.option("--url", metavar="U", help="Show the record of one URL.")
@click.option("--top-n", type=AtMost(min=1), metavar="N", help="Show the N URLs with the highest scores.")
@click.option("--min-score", type=float, metavar="S", help="With --top-n: only URLs with at least this score.")
@click.option("--dump", metavar="OUT", help="Write records to a file, or - for stdout.")
@dump_format
@click.option("--status", default="", metavar="S", help="With --dump: only records with this status.")
@click.option("--retry", type=int, metavar="N", help="With --dump: only records with this many retries.")
@click.option("--regex", default="", metavar="R", help="With --dump: only URLs that contain a match of this pattern.")
@click.option("--expr", default="", metavar="E", help="With --dump: only records for which this expression is true.")
@click.option("--sample", type=float, metavar="F", help="With --dump: only this fraction of the records, 0 to 1.")
def command(
    directory: str,
    wants_stats: bool,
    by_host: bool,
    url: str | None,
    top_n: int | None,
    min_score: float | None,
    dump: str | None,
    form: str | None,
    **selection: Any,
) -> int:
    """Show the crawldb: statistics, one URL, the top URLs, or a dump.

    Exit code 1: the crawldb does not contain the URL of --url.

    \b
    Example:
      scoter readdb mycrawl --stats
      scoter readdb mycrawl --url https://example.org/
      scoter readdb mycrawl --dump gone.csv --format csv --status gone --expr "fetch_time > now - 7d"
    """
    asked = [wants_stats or by_host, url is not None, top_n is not None, dump is not None]
    if sum(asked) != 1:
        raise UsageError("give exactly one of --stats, --url, --top-n and --dump", hint="See scoter readdb --help")
    only_with("--dump", dump is not None, "--format", "--status", "--retry", "--regex", "--expr", "--sample")
    only_with("--top-n", top_n is not None, "--min-score")
    if min_score is not None and math.isnan(min_score):
        raise UsageError(f"{min_score} is not a score", where="--min-score")
    with crawl_session("readdb", directory, lock=False) as session:
        from scoter.batch.jobs.readdb import RecordFilter, top

        if url is not None:
            return _show_record(session, url)
        if top_n is not None:
            found = top(session.crawl, session.engine, session.config, n=top_n, min_score=min_score)
            print_rows(found, ["score", "status", "url"])
            return 0
        if dump is not None:
            return _dump(session, dump, form, RecordFilter(**selection))
        return _show_stats(session, by_host)


def _show_record(session: CrawlSession, url: str) -> int:
    from scoter.batch.crawldir.export import json_value
    from scoter.batch.jobs.readdb import record

    found = record(session.crawl, session.config, url)
    if found is None:
        note(f"The crawldb does not contain {url}\nTo find out why: scoter explain {typed(session.crawl.path, url)}")
        return NOTHING_TO_DO
    if invocation().json:
        print_json(json_value(found))
    else:
        print_facts(found)
    return 0


def _dump(session: CrawlSession, out: str, form: str | None, wanted: RecordFilter) -> int:
    from scoter.batch.jobs.readdb import select

    number = write_dump(*select(session.crawl, session.engine, session.config, wanted, now=session.now), out, form)
    if out != "-":
        session.status.note(f"Wrote {count(number, 'record')} to {out}")
    return 0


def _show_stats(session: CrawlSession, by_host: bool) -> int:
    from scoter.batch.crawldir.export import json_value
    from scoter.batch.crawldir.schemas import DB_STATUSES
    from scoter.batch.jobs.readdb import host_statuses, stats

    found = stats(session.crawl, session.engine, session.config)
    session.status.clear()
    if invocation().json:
        import msgspec

        print_json(json_value(msgspec.to_builtins(found, builtin_types=(object,), str_keys=True)))
    else:
        _print_stats(found)
    if by_host:
        hosts = host_statuses(session.crawl, session.engine, session.config)
        if not invocation().json:
            click.echo()
        print_rows(hosts, ["host", "urls", *DB_STATUSES])
    return 0


def _print_stats(found: CrawldbStats) -> None:
    print_table([{"status": name, "urls": f"{n:,}"} for name, n in found.statuses.items()], ["status", "urls"])
    click.echo(f"\nURLs        {found.urls:,}, on {count(found.hosts, 'host')}")
    if not found.urls:
        return
    click.echo("retries     " + "  ".join(f"{times}: {n:,}" for times, n in found.retries.items()))
    click.echo(f"score       {_range(found.score, '{:.4g}'.format)}")
    click.echo(f"interval    {_range(found.interval, _days)}")
    click.echo(f"fetch time  {found.fetch_time.least:%Y-%m-%d %H:%M} to {found.fetch_time.most:%Y-%m-%d %H:%M} UTC")
    if found.score_quantiles:
        click.echo()
        quantiles = found.score_quantiles.items()
        print_table([{"quantile": name, "score": f"{value:.6g}"} for name, value in quantiles], ["quantile", "score"])
    click.echo()
    print_table([{"host": name, "urls": f"{n:,}"} for name, n in found.top_hosts.items()], ["host", "urls"])


def _range(found: ColumnRange, spell: Any) -> str:
    if found.least is None or found.mean is None:
        return "none"
    return f"{spell(found.least)} to {spell(found.most)}, {spell(found.mean)} on average"


def _days(seconds: float) -> str:
    return f"{timedelta(seconds=seconds) / timedelta(days=1):.3g} d"
