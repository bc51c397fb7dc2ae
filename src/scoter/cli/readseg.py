"""Show what lies in segments."""

from __future__ import annotations

import click
import msgspec

from scoter.cli.invocation import invocation, only_with
from scoter.cli.jobs import Work, working
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError, typed

_COLUMNS = ["segment", "state", "generated", "fetched", "parsed", "fetch_start", "fetch_end", "size"]


@click.command()
@click.argument("directory")
@click.argument("segment", required=False)
@click.option("--list", "wants_list", is_flag=True, help="List segments and how far each has come.")
@click.option("--get", "url", metavar="URL", help="Show all that segments have of a URL.")
@click.option("--dump", metavar="OUT", help="Write all of a segment to a file; - is standard output.")
@click.option("--recode", is_flag=True, help="With --get and --dump: pages in UTF-8.")
@click.option("--no-content", is_flag=True, help="With --dump: without what was archived.")
@click.option("--no-fetch", is_flag=True, help="With --dump: without what fetches led to.")
@click.option("--no-generate", is_flag=True, help="With --dump: without the fetch lists.")
@click.option("--no-parse", is_flag=True, help="With --dump: without the links.")
@click.option("--no-parse-data", is_flag=True, help="With --dump: without titles and metadata.")
@click.option("--no-parse-text", is_flag=True, help="With --dump: without texts.")
def command(
    directory: str,
    segment: str | None,
    wants_list: bool,
    url: str | None,
    dump: str | None,
    recode: bool,
    **without: bool,
) -> int:
    """Show what lies in segments.

    Without the name of a segment, --list and --get look into all of them, --dump takes the newest. A dump has a block
    for each URL; with --json an object. Exit code 1 when no segment has the URL of --get.

    \b
    Example:
      scoter readseg mycrawl --list
      scoter readseg mycrawl --get https://example.org/
      scoter readseg mycrawl 20261115033000 --dump pages.txt --no-generate --no-content
    """
    if sum([wants_list, url is not None, dump is not None]) != 1:
        raise UsageError("say what to show: one of --list, --get and --dump", hint="Try `scoter readseg --help`.")
    only_with("--get and --dump", not wants_list, "--recode")
    only_with("--dump", dump is not None, *(f"--{name.replace('_', '-')}" for name in without))
    with working("readseg", directory, lock=False) as work:
        if url is not None:
            return _get(work, segment, url, recode)
        if dump is not None:
            return _dump(work, segment, dump, recode, without)
        return _list(work, segment)


def _list(work: Work, segment: str | None) -> int:
    from scoter.batch.crawldir.export import plain
    from scoter.batch.readseg import chosen, listing
    from scoter.cli.rows import print_rows

    found = (msgspec.structs.asdict(each) for each in listing(work.crawl, chosen(work.crawl, segment)))
    if invocation().json:
        for row in found:
            print_json(plain(row))
    else:
        print_rows(({**row, "size": _size(row["size"])} for row in found), _COLUMNS, "table")
    return 0


def _get(work: Work, segment: str | None, url: str, recode: bool) -> int:
    from scoter.batch.readseg import as_lines, as_object, chosen, get

    number = 0
    for number, found in enumerate(get(work.config, chosen(work.crawl, segment), url, recode=recode), 1):  # noqa: B007
        if invocation().json:
            print_json(as_object(found))
        else:
            for line in as_lines(found):
                click.echo(visible(line))
    if not number:
        note(f"no segment has {url}\nscoter explain {typed(work.crawl.path, url)} tells why.")
        return 1
    return 0


def _dump(work: Work, segment: str | None, out: str, recode: bool, without: dict[str, bool]) -> int:
    from scoter.batch.readseg import Wanted, as_lines, as_object, chosen, holdings
    from scoter.cli.rows import opened

    wanted = Wanted(
        content=not without["no_content"],
        fetch=not without["no_fetch"],
        generate=not without["no_generate"],
        outlinks=not without["no_parse"],
        parse_data=not without["no_parse_data"],
        parse_text=not without["no_parse_text"],
    )
    (one,) = chosen(work.crawl, segment, newest=True)
    number = 0
    with opened(out) as file:
        for number, found in enumerate(holdings(work.crawl, work.engine, work.config, one, wanted, recode=recode), 1):
            if invocation().json:
                file.write(msgspec.json.encode(as_object(found)) + b"\n")
            else:
                file.write("".join(f"{visible(line)}\n" for line in as_lines(found)).encode("utf-8", "replace"))
            work.line.show(f"readseg {number:,} URLs")
    work.line.clear()
    if out != "-":
        work.line.note(f"{number:,} URLs of segment {one.name} written to {out}")
    return 0


def _size(number: int) -> str:
    """Return a number of bytes for people.

    >>> _size(1_500_000), _size(900)
    ('1.5 MB', '900 B')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} B"
