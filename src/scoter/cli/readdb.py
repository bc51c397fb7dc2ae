"""Show what the crawldb knows: statistics, one URL, the best, or all."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import AtMost, invocation, only_with
from scoter.cli.jobs import Work, working
from scoter.cli.output import note, print_json
from scoter.errors import UsageError, typed

if TYPE_CHECKING:
    from scoter.batch.readdb import Numbers, Selection, Stats


@click.command()
@click.argument("directory")
@click.option("--stats", "wants_stats", is_flag=True, help="Count URLs by status, retries and host.")
@click.option("--sort", "by_host", is_flag=True, help="With --stats: also every host with its statuses.")
@click.option("--url", metavar="U", help="Show the record of one URL.")
@click.option("--top-n", type=AtMost(min=1), metavar="N", help="Show the N URLs with the highest scores.")
@click.option("--min-score", type=float, metavar="S", help="With --top-n: only scores from S up.")
@click.option("--dump", metavar="OUT", help="Write records to a file; - is standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet", "plain"]),
    help="Format of the dump (default: json with --json, else plain).",
)
@click.option("--status", default="", metavar="S", help="With --dump: only records of this status.")
@click.option("--retry", type=int, metavar="N", help="With --dump: only records with so many retries.")
@click.option("--regex", default="", metavar="R", help="With --dump: only URLs in which this pattern is found.")
@click.option("--expr", default="", metavar="E", help="With --dump: only records of which this is true.")
@click.option("--sample", type=float, metavar="F", help="With --dump: only this share of the records, 0 to 1.")
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
    """Show what the crawldb knows: statistics, one URL, the best, or all.

    Exit code 1 when the crawldb does not know the URL of --url.

    \b
    Example:
      scoter readdb mycrawl --stats
      scoter readdb mycrawl --url https://example.org/
      scoter readdb mycrawl --dump gone.csv --format csv --status gone --expr "fetch_time > now - 7d"
    """
    asked = [wants_stats or by_host, url is not None, top_n is not None, dump is not None]
    if sum(asked) != 1:
        raise UsageError(
            "say what to show: one of --stats, --url, --top-n and --dump", hint="Try `scoter readdb --help`."
        )
    only_with("--dump", dump is not None, "--format", "--status", "--retry", "--regex", "--expr", "--sample")
    only_with("--top-n", top_n is not None, "--min-score")
    if min_score is not None and math.isnan(min_score):
        raise UsageError(f"{min_score} is not a score", where="--min-score")
    with working("readdb", directory, lock=False) as work:
        if url is not None:
            return _show_record(work, url)
        if top_n is not None:
            return _show_top(work, top_n, min_score)
        if dump is not None:
            from scoter.batch.readdb import Selection

            return _dump(work, dump, form, Selection(**selection))
        return _show_stats(work, by_host)


def _show_record(work: Work, url: str) -> int:
    from scoter.batch.crawldir.export import plain
    from scoter.batch.readdb import record
    from scoter.cli.rows import print_facts

    found = record(work.crawl, work.config, url)
    if found is None:
        note(f"the crawldb does not know {url}\nscoter explain {typed(work.crawl.path, url)} tells why.")
        return 1
    if invocation().json:
        print_json(plain(found))
    else:
        print_facts(found)
    return 0


def _show_top(work: Work, n: int, min_score: float | None) -> int:
    from scoter.batch.readdb import top
    from scoter.cli.rows import print_rows

    found = top(work.crawl, work.engine, work.config, n=n, min_score=min_score)
    print_rows(found, ["score", "status", "url"], "json" if invocation().json else "table")
    return 0


def _dump(work: Work, out: str, form: str | None, wanted: Selection) -> int:
    from scoter.batch.crawldir.export import dump
    from scoter.batch.readdb import select
    from scoter.cli.rows import opened

    form = form or ("json" if invocation().json else "plain")
    schema, batches = select(work.crawl, work.engine, work.config, wanted, now=work.now)
    with opened(out, binary=form == "parquet") as file:
        number = dump(batches, schema, file, form)
    if out != "-":
        work.line.note(f"{number:,} records written to {out}")
    return 0


def _show_stats(work: Work, by_host: bool) -> int:
    from scoter.batch.crawldir.export import plain
    from scoter.batch.crawldir.schemas import DB
    from scoter.batch.readdb import host_statuses, stats
    from scoter.cli.rows import print_rows

    said = invocation()
    found = stats(work.crawl, work.engine, work.config)
    work.line.clear()
    if said.json:
        import msgspec

        print_json(plain(msgspec.to_builtins(found, builtin_types=(object,), str_keys=True)))
    else:
        _print_stats(found)
    if by_host:
        hosts = host_statuses(work.crawl, work.engine, work.config)
        if not said.json:
            click.echo()
        print_rows(hosts, ["host", "urls", *DB], "json" if said.json else "table")
    return 0


def _print_stats(found: Stats) -> None:
    from scoter.cli.output import print_table

    print_table([{"status": name, "urls": f"{n:,}"} for name, n in found.statuses.items()], ["status", "urls"])
    click.echo(f"\nURLs        {found.urls:,}, on {found.hosts:,} hosts")
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


def _range(found: Numbers, spell: Any) -> str:
    if found.least is None or found.mean is None:
        return "none"
    return f"{spell(found.least)} to {spell(found.most)}, {spell(found.mean)} on average"


def _days(seconds: float) -> str:
    return f"{timedelta(seconds=seconds) / timedelta(days=1):.3g} d"
