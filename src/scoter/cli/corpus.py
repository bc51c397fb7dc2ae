"""The command that writes texts for language models: corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.export import ShardStatus, export_source, page_filter, selection_options
from scoter.cli.invocation import AtMost, invocation, only_with, remark
from scoter.cli.results import print_result, print_table
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count, size
from scoter.errors import UserError

if TYPE_CHECKING:
    from scoter.export.corpus.report import CorpusReport
    from scoter.export.folder import ExportManifest


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("out", metavar="OUT")
@selection_options
@click.option(
    "--text", type=click.Choice(["main", "markdown"]), default="main", help="Main text (default) or Markdown."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "jsonl"]),
    default="parquet",
    help="Parquet (default) or JSON lines.",
)
@click.option("--keep-duplicates", is_flag=True, help="Keep pages with the same or nearly the same text.")
@click.option("--keep-near-duplicates", is_flag=True, help="Keep pages with nearly the same text.")
@click.option(
    "--sample",
    type=AtMost(min=0),
    default=50,
    show_default=True,
    metavar="N",
    help="Pages in each part of the sample report; 0 for no report.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be kept, and what each rule would drop.")
@click.option("--report", "page", metavar="FILE", help="With --dry-run: write the sample report to this file.")
@click.option(
    "--shard-size", type=AtMost(min=1), default=50_000, show_default=True, metavar="N", help="Pages per file."
)
def command(directory: str, out: str, text: str, form: str, sample: int, **options: Any) -> None:
    """Write the texts of a crawl for a language model.

    OUT is a new directory. It gets files with text, URL, title, language, dates and quality signals, a list of the
    pages that were dropped, and sample.html: some of what was kept and of what each rule dropped, for you to judge.
    Poor texts are dropped by rules like those of Gopher, C4 and FineWeb (the settings corpus.*), and of repeated texts
    one is kept. An interrupted run is continued by the same command.

    \b
    Example:
      scoter corpus mycrawl texts --where "language == 'en'"
      scoter corpus mycrawl texts --dry-run --report sample.html -D corpus.min_words=100
    """
    dry_run, page = options["dry_run"], options["page"]
    only_with("--dry-run", dry_run, "--report")
    with crawl_session("corpus", directory, lock=False) as session:
        from scoter.export.corpus.files import SAMPLE_FILE
        from scoter.export.corpus.job import corpus, examine
        from scoter.export.corpus.judged import CorpusOptions
        from scoter.export.corpus.report import corpus_report

        chosen = CorpusOptions(
            filter=page_filter(options),
            text="markdown" if text == "markdown" else "main",
            form="jsonl" if form == "jsonl" else "parquet",
            **{name: options[name] for name in ("keep_duplicates", "keep_near_duplicates", "shard_size")},
        )
        source, progress = export_source(session), CorpusStatus(session)
        if dry_run:
            file = Path(page) if page else None
            found = examine(
                source, session.scratch / "corpus", chosen, now=session.now, sample=sample, page=file, progress=progress
            )
            session.status.clear()
            print_result(found, show_report)
        else:
            done = corpus(source, Path(out), chosen, now=session.now, sample=sample, progress=progress)
            session.status.clear()
            found = corpus_report(done.manifest.counts)
            if not invocation().json:
                show_report(found)
            _show_files(done.manifest, out, was_finished=done.was_finished)
            page = str(Path(out) / SAMPLE_FILE) if sample else None
    if page:
        remark(f"Read {page} to judge what was kept and what each rule dropped.")
    _mention_languages()
    if not found.kept and not dry_run:
        raise UserError("no page is kept: each of them breaks a rule", where=out, hint=_NOTHING)


_NOTHING = "The table says which. Turn a rule off (-D corpus.RULE=off), or crawl other pages."


def _mention_languages() -> None:
    """Say what identifies the languages of pages that declare none, if it is not installed."""
    from scoter.extras import install_command
    from scoter.parse.filters.language import can_identify

    if not can_identify():
        remark(f"Only declared languages are known. To install what identifies others: {install_command('language')}")


def show_report(found: CorpusReport) -> None:
    """Print what each rule dropped, and what is kept."""
    rows = [
        {
            "dropped because": rule.reason,
            "pages": rule.pages,
            "only this": rule.only,
            "rule": rule.rule,
            "example": rule.example,
        }
        for rule in found.rules
        if rule.pages
    ]
    if rows:
        print_table(rows, list(rows[0]))
        click.echo()
    dropped = found.selected - found.kept
    click.echo(f"{count(found.selected, 'page')}: {found.kept:,} kept, {dropped:,} dropped.")


def _show_files(manifest: ExportManifest, out: str, *, was_finished: bool) -> None:
    files = [file for file in manifest.files if file.name.startswith("data/")]
    whole = f"{count(manifest.pages, 'text')} in {count(len(files), 'file')}, {size(sum(file.size for file in files))}"
    print_result(manifest, f"{out} is complete: {whole}." if was_finished else f"Wrote {whole}, to {out}.")


class CorpusStatus:
    """Shows what is done with the texts, and how long it will take."""

    def __init__(self, session: CrawlSession) -> None:
        self._session = session
        self._steps: dict[str, ShardStatus] = {}

    def __call__(self, step: str, done: int, total: int) -> None:
        if step not in self._steps:
            self._steps[step] = ShardStatus(self._session, label=f"{self._session.command}: {step}")
        self._steps[step](done, total)
