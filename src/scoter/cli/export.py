"""The command that writes a crawl to files for others: export."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import AtMost, Decorator, invocation, only_with, remark
from scoter.cli.output import note, progress_bar, visible
from scoter.cli.results import exact_option, print_result
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count, duration, rate, size
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.export.folder import ExportManifest
    from scoter.export.page_rows import ExportSource
    from scoter.export.selection import PageFilter

_FORMATS = ("warc", "wacz", "jsonl", "csv", "parquet", "markdown", "sqlite", "files", "commoncrawl")
_OPTIONS = {
    "--fields": "fields",
    "--text": "fields",
    "--compress": "compression",
    "--exact": "exact",
    "--include-redirects": "redirects",
    "--fts": "fts",
    "--layout": "layout",
    "--encoding": "encoding",
    "--reverse-key": "key",
}
"""Options that only some formats take, and what the formats call them."""


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select pages."""
    options: list[Decorator] = [
        click.option("--where", default="", metavar="EXPR", help="Only pages for which this expression is true."),
        click.option("--sql", default="", metavar="QUERY", help="Only pages whose url this query returns."),
        click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this content type, such as image/*."),
        click.option("--include-duplicates", "duplicates", is_flag=True, help="Also export duplicates."),
        click.option("--include-noindex", "noindex", is_flag=True, help="Also export pages that forbid indexing."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


shard_size_option = click.option(
    "--shard-size", type=AtMost(min=1), metavar="N", help="Pages per shard (default: 10,000)."
)


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("out", metavar="OUT")
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="Format of the export.")
@exact_option
@selection_options
@click.option("--include-redirects", "redirects", is_flag=True, help="With warc and wacz: also export redirects.")
@click.option(
    "--text", type=click.Choice(["main", "markdown"]), help="What content is: the main text (default) or Markdown."
)
@click.option("--fields", default="", metavar="NAMES", help="Fields of a page, separated by commas.")
@click.option("--compress", type=click.Choice(["none", "gzip", "zstd"]), default="none", help="Compression of files.")
@click.option("--fts", is_flag=True, help="With sqlite: add a full-text index.")
@click.option(
    "--layout",
    type=click.Choice(["host", "hash", "flat", "reverse"]),
    default="host",
    help="With files: names and folders, by host (default) or as `nutch dump` has them.",
)
@click.option("--encoding", type=click.Choice(["json", "cbor"]), default="json", help="With commoncrawl: of records.")
@click.option("--reverse-key", is_flag=True, help="With commoncrawl: keys with the reversed host instead of the URL.")
@shard_size_option
def command(directory: str, out: str, form: str, shard_size: int | None, fields: str, **options: Any) -> None:
    """Export the pages of a crawl to files.

    OUT is a new directory. It gets the newest version of every page, without duplicates and noindex pages, in numbered
    files, and manifest.json with the size and digest of each. An interrupted export is continued by the same command.

    \b
    Example:
      scoter export mycrawl pages --format jsonl --where "language == 'de'" --fields url,title,content
      scoter export mycrawl archive --format wacz --sql "SELECT url FROM pages WHERE title LIKE '%seal%'"
    """
    with crawl_session("export", directory, lock=False) as session:
        from scoter.export.fields import DEFAULT_FIELDS, parse_fields
        from scoter.export.job import ExportOptions, export
        from scoter.export.registry import FORMATS, FormatChoices

        takes = FORMATS[form].takes
        for option, name in _OPTIONS.items():
            only_with(_formats_with(name), name in takes, option)
        names = parse_fields(fields) if fields else DEFAULT_FIELDS
        if options["text"] == "markdown":
            names = tuple(dict.fromkeys("markdown" if name == "content" else name for name in names))
        chosen = ExportOptions(
            format=form,
            filter=page_filter(options),
            fields=names,
            shard_size=shard_size,
            choices=FormatChoices(
                compression=options["compress"],
                exact=invocation().exact,
                fts=options["fts"],
                layout=options["layout"],
                encoding=options["encoding"],
                key="reverse" if options["reverse_key"] else "url",
            ),
        )
        source = export_source(session)
        done = export(source, Path(out), chosen, now=session.now, progress=ShardStatus(session))
    report(done.manifest, out, was_finished=done.was_finished)


def _formats_with(name: str) -> str:
    from scoter.export.registry import FORMATS

    return "--format " + ", ".join(form for form, known in FORMATS.items() if name in known.takes)


def page_filter(options: dict[str, Any]) -> PageFilter:
    """Return the filter that the options of a command describe."""
    from scoter.export.selection import PageFilter

    for each in options["types"]:
        if "/" not in each:
            raise UsageError(
                f"{each!r} is not a content type", where="--type", hint="For example: text/html or image/*"
            )
    return PageFilter(**{name: options[name] for name in PageFilter.__struct_fields__ if name in options})


def export_source(session: CrawlSession) -> ExportSource:
    """Return what a command exports from; if main text has to be made first, its progress is shown."""
    from scoter.export.page_rows import ExportSource

    status = ShardStatus(session, label="main text")
    return ExportSource(session.crawl, session.engine, session.config, status, session.status.note)


class ShardStatus:
    """Shows how many pages are done, how fast, and how long the rest will take."""

    def __init__(self, session: CrawlSession, clock: Callable[[], float] = time.monotonic, *, label: str = "") -> None:
        self._session = session
        self._label = label or session.command
        self._clock = clock
        self._first: tuple[int, float] | None = None

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if self._first is None:
            self._first = (done, now)
        pages, seconds = done - self._first[0], now - self._first[1]
        text = f"{progress_bar(self._label, done / total)} · {done:,} of {count(total, 'page')}"
        if pages and seconds > 0:
            text += f" · {rate(pages, seconds)} · {duration((total - done) * seconds / pages)} left"
        self._session.status.show(text)


def report(manifest: ExportManifest, out: str, *, was_finished: bool) -> None:
    """Print what an export holds."""
    counts = manifest.counts
    files = len(manifest.files) + (manifest.pages if "page_bytes" in counts else 0)
    space = manifest.bytes + counts.get("page_bytes", 0)
    whole = f"{count(manifest.pages, 'page')} in {count(files, 'file')}, {size(space)}"
    print_result(manifest, f"{out} is complete: {whole}" if was_finished else f"Exported {whole}, to {out}")
    if without := counts.get("without_markdown"):
        remark(f"{count(without, 'page')} had no Markdown, so their text was used (not HTML, or not archived).")
    if manifest.skipped:
        note(f"Skipped {count(manifest.skipped, 'page')}:")
    for page in manifest.skipped_pages:
        note(f"  {visible(page.url)}: {visible(page.reason)}")
