"""Commands on the hostdb: updatehostdb and readhostdb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, AtMost, invocation, only_with, remark
from scoter.cli.output import note, print_json
from scoter.cli.results import dump_format, print_facts, print_result, print_rows, write_dump
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count, size
from scoter.errors import UsageError, typed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scoter.batch.hosts.lookups import HostChecks
    from scoter.batch.jobs.updatehostdb import HostdbResult
    from scoter.config import Config

_TABLE = ("host", "urls", "fetched", "unfetched", "gone", "errors", "p50 ms", "p95 ms", "bytes", "dns")


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--check-all", is_flag=True, help="Look up the names of all hosts that are due.")
@click.option("--check-new", is_flag=True, help="Look up only hosts that were never looked up (may be combined).")
@click.option("--check-failed", is_flag=True, help="Look up only hosts whose last lookup failed (may be combined).")
@click.option("--check-known", is_flag=True, help="Look up only hosts whose last lookup succeeded (may be combined).")
@click.option("--no-check", is_flag=True, help="Look up no names.")
@click.option("--force", is_flag=True, help="Look up hosts even if hostdb.recheck_interval is not over.")
@click.option("--filter/--no-filter", default=None, help="Apply the URL filters (default: hostdb.url_filter).")
@click.option(
    "--normalize/--no-normalize", default=None, help="Apply the URL normalisers (default: hostdb.url_normalize)."
)
@click.option("--rebuild", is_flag=True, help="Forget what earlier segments said, and add all segments again.")
def updatehostdb(
    directory: str,
    filter: bool | None,
    normalize: bool | None,
    rebuild: bool,
    no_check: bool,
    force: bool,
    **only: bool,
) -> None:
    """Update the hostdb: one record per host.

    Counts the URLs of the crawldb by host and status, adds the requests of segments that are not in the hostdb yet, and
    takes over robots.txt facts and the ranks of the host graph. The names of all hosts that have not answered a request
    are looked up in DNS, hostdb.num_resolvers_threads at a time and for at most hostdb.lookup_time_limit. The settings
    hostdb.check_* and the options --check-* choose among them; --no-check looks up none.

    \b
    Example:
      scoter updatehostdb mycrawl
      scoter updatehostdb mycrawl --no-check
    """
    if no_check and (force or any(only.values())):
        raise UsageError("--no-check cannot be combined with other --check options or --force")
    with crawl_session("updatehostdb", directory) as session:
        from scoter.batch.jobs.updatehostdb import updatehostdb as update

        done = update(
            session.crawl,
            session.engine,
            session.config,
            now=session.now,
            checks=_checks(session.config, no_check=no_check, force=force, **only),
            filter=filter,
            normalize=normalize,
            rebuild=rebuild,
            on_lookup=lambda number: _show_lookups(session, number),
        )
    print_result(done, f"{count(done.hosts, 'host')}, {done.hosts - done.hosts_before:+,} since the last update")
    _remark_lookups(done)


def _checks(
    config: Config,
    *,
    no_check: bool,
    force: bool,
    check_all: bool,
    check_new: bool,
    check_failed: bool,
    check_known: bool,
) -> HostChecks:
    from scoter.batch.hosts.lookups import HostChecks

    settings = config.hostdb
    if no_check:
        return HostChecks(new=False, failed=False, known=False)
    if check_new or check_failed or check_known:
        chosen = (check_new, check_failed, check_known)
    elif check_all:
        chosen = (True, True, True)
    else:
        chosen = (settings.check_new, settings.check_failed, settings.check_known)
    return HostChecks(new=chosen[0], failed=chosen[1], known=chosen[2], force=force or settings.force_check)


def _show_lookups(session: CrawlSession, number: int) -> None:
    session.status.show(f"updatehostdb  {count(number, 'host')} looked up")
    session.progress.add("lookup", done=number)


def _remark_lookups(done: HostdbResult) -> None:
    looked_up = done.found + done.missing + done.unanswered
    if looked_up:
        remark(f"Looked up {count(looked_up, 'host')}: {done.found:,} found, {done.missing:,} without an address")
    if done.left:
        remark(f"Left {count(done.left, 'host')} to the next update, after hostdb.lookup_time_limit.")
    if done.unanswered:
        what = (
            "no name server answered" if done.unanswered == looked_up else f"no answer for {done.unanswered:,} of them"
        )
        remark(f"DNS: {what}; what was known before is kept.")


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--get", metavar="HOST", help="Show everything known about one host.")
@click.option("--dump", metavar="OUT", help="Write the records to a file, or - for stdout.")
@click.option("--dump-homepages", metavar="OUT", help="Write the URLs of the hosts' homepages.")
@click.option("--dump-hostnames", metavar="OUT", help="Write the names of the hosts.")
@dump_format
@click.option("--expr", default="", metavar="E", help="Only hosts for which this expression is true.")
@click.option("--sort", default="urls", show_default=True, metavar="COLUMN", help="Show the largest of this first.")
@click.option("--limit", type=AtMost(min=1), metavar="N", help="Show at most N hosts.")
def readhostdb(
    directory: str,
    get: str | None,
    dump: str | None,
    dump_homepages: str | None,
    dump_hostnames: str | None,
    form: str | None,
    expr: str,
    sort: str,
    limit: int | None,
) -> int:
    """Show the hosts of a crawl, one host, or a dump of the hostdb.

    --json prints all columns. Exit code 1: the hostdb does not contain the host of --get.

    \b
    Example:
      scoter readhostdb mycrawl --sort latency_ms.p95 --limit 10
      scoter readhostdb mycrawl --get example.org
      scoter readhostdb mycrawl --dump-homepages homepages.txt --expr "fetched > 100 and dns_failures == 0"
    """
    asked = {"records": dump, "homepages": dump_homepages, "hostnames": dump_hostnames}
    dumps = {kind: out for kind, out in asked.items() if out is not None}
    if len(dumps) + (get is not None) > 1:
        raise UsageError(
            "give only one of --get, --dump, --dump-homepages and --dump-hostnames", hint="See scoter readhostdb --help"
        )
    only_with("--dump", bool(dumps), "--format")
    if get is not None or dumps:
        only_with("a list of hosts", False, "--sort", "--limit")
    with crawl_session("readhostdb", directory, lock=False) as session:
        if get is not None:
            return _show_host(session, get)
        for kind, out in dumps.items():
            _dump(session, kind, out, form, expr)
            return 0
        from scoter.batch.jobs.readhostdb import hosts

        found = hosts(session.crawl, session.engine, now=session.now, expr=expr, sort=sort, limit=limit)
        if invocation().json:
            from scoter.batch.jobs.readhostdb import RECORD

            print_rows(found, RECORD.names)
        else:
            print_rows(_table_rows(found), _TABLE)
    return 0


def _table_rows(found: Iterator[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in found:
        latency = dict(row["latency_ms"] or {})
        errors = row["client_errors"] + row["server_errors"] + row["connection_failures"]
        yield {
            **{name: row[name] for name in ("host", "urls", "fetched", "unfetched", "gone")},
            "errors": errors,
            **{f"{name} ms": _whole(latency.get(name)) for name in ("p50", "p95")},
            "bytes": size(row["bytes"]),
            "dns": f"failed {row['dns_failures']}×" if row["dns"] == "failed" else row["dns"] or "",
        }


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _show_host(session: CrawlSession, name: str) -> int:
    from scoter.batch.crawldir.export import json_value
    from scoter.batch.jobs.readhostdb import host_record

    found = host_record(session.crawl, name)
    if found is None:
        note(f"The hostdb does not contain {name}\nTo update it: scoter updatehostdb {typed(session.crawl.path)}")
        return NOTHING_TO_DO
    if invocation().json:
        print_json(json_value(found))
    else:
        print_facts({name: value for name, value in found.items() if value not in (None, [], {})})
    return 0


def _dump(session: CrawlSession, kind: Any, out: str, form: str | None, expr: str) -> None:
    from scoter.batch.jobs.readhostdb import select

    schema, batches = select(session.crawl, session.engine, now=session.now, kind=kind, expr=expr)
    if form is None and kind != "records" and not invocation().json:
        form = "lines"
    number = write_dump(schema, batches, out, form)
    if out != "-":
        session.status.note(f"Wrote {count(number, 'host')} to {out}")
