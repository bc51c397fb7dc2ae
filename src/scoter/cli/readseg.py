"""Show the contents of segments."""

from __future__ import annotations

import click
import msgspec

from scoter.cli.invocation import NOTHING_TO_DO, invocation, only_with
from scoter.cli.output import note, print_json, visible
from scoter.cli.results import open_output, print_table
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count, size
from scoter.errors import UsageError, typed

_COLUMNS = ["segment", "state", "generated", "fetched", "parsed", "fetch_start", "fetch_end", "size"]


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segment", required=False)
@click.option("--list", "wants_list", is_flag=True, help="List segments and their state.")
@click.option("--get", "url", metavar="URL", help="Show everything segments contain about a URL.")
@click.option("--dump", metavar="OUT", help="Write a segment to a file, or - for stdout.")
@click.option("--recode", is_flag=True, help="With --get and --dump: convert pages to UTF-8.")
@click.option("--no-content", is_flag=True, help="With --dump: leave out archived content.")
@click.option("--no-fetch", is_flag=True, help="With --dump: leave out fetch outcomes.")
@click.option("--no-generate", is_flag=True, help="With --dump: leave out the fetch list.")
@click.option("--no-parse", is_flag=True, help="With --dump: leave out links.")
@click.option("--no-parse-data", is_flag=True, help="With --dump: leave out titles and metadata.")
@click.option("--no-parse-text", is_flag=True, help="With --dump: leave out page text.")
def command(
    directory: str,
    segment: str | None,
    wants_list: bool,
    url: str | None,
    dump: str | None,
    recode: bool,
    **without: bool,
) -> int:
    """Show the contents of segments.

    Without SEGMENT, --list and --get cover all segments and --dump takes the newest. A dump has one block per URL; with
    --json, one object. Exit code 1: no segment contains the URL of --get.

    \b
    Example:
      scoter readseg mycrawl --list
      scoter readseg mycrawl --get https://example.org/
      scoter readseg mycrawl 20261115033000 --dump pages.txt --no-generate --no-content
    """
    if sum([wants_list, url is not None, dump is not None]) != 1:
        raise UsageError("give exactly one of --list, --get and --dump", hint="See scoter readseg --help")
    only_with("--get and --dump", not wants_list, "--recode")
    only_with("--dump", dump is not None, *(f"--{name.replace('_', '-')}" for name in without))
    with crawl_session("readseg", directory, lock=False) as session:
        if url is not None:
            return _get(session, segment, url, recode)
        if dump is not None:
            return _dump(session, segment, dump, recode, without)
        return _list(session, segment)


def _list(session: CrawlSession, segment: str | None) -> int:
    from scoter.batch.crawldir.export import json_value
    from scoter.batch.jobs.readseg import select_segments, summarize_segments

    found = (
        msgspec.structs.asdict(each)
        for each in summarize_segments(session.crawl, select_segments(session.crawl, segment))
    )
    if invocation().json:
        for row in found:
            print_json(json_value(row))
    else:
        print_table(({**row, "size": size(row["size"])} for row in found), _COLUMNS)
    return 0


def _get(session: CrawlSession, segment: str | None, url: str, recode: bool) -> int:
    from scoter.batch.jobs.readseg import entry_json, entry_lines, find_entries, select_segments

    number = 0
    entries = find_entries(session.config, select_segments(session.crawl, segment), url, recode=recode)
    for number, found in enumerate(entries, 1):  # noqa: B007 - the last number is the count
        if invocation().json:
            print_json(entry_json(found))
        else:
            for line in entry_lines(found):
                click.echo(visible(line))
    if not number:
        note(f"No segment contains {url}\nTo find out why: scoter explain {typed(session.crawl.path, url)}")
        return NOTHING_TO_DO
    return 0


def _dump(session: CrawlSession, segment: str | None, out: str, recode: bool, without: dict[str, bool]) -> int:
    from scoter.batch.jobs.readseg import SegmentParts, entries, entry_json, entry_lines, select_segments

    parts = {name.removeprefix("no_"): not is_left_out for name, is_left_out in without.items()}
    wanted = SegmentParts(outlinks=parts.pop("parse"), **parts)
    (one,) = select_segments(session.crawl, segment, newest=True)
    number = 0
    with open_output(out) as file:
        for number, found in enumerate(
            entries(session.crawl, session.engine, session.config, one, wanted, recode=recode), 1
        ):
            if invocation().json:
                file.write(msgspec.json.encode(entry_json(found)) + b"\n")
            else:
                file.write("".join(f"{visible(line)}\n" for line in entry_lines(found)).encode("utf-8", "replace"))
            session.status.show(f"readseg {count(number, 'URL')}")
    session.status.clear()
    if out != "-":
        session.status.note(f"Wrote {count(number, 'URL')} of segment {one.name} to {out}")
    return 0
