"""Show everything known about a URL, and why it was fetched or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, invocation
from scoter.cli.output import print_json, visible
from scoter.cli.session import crawl_session
from scoter.core.display import ago, count

if TYPE_CHECKING:
    from scoter.batch.jobs.explain import Explanation, RowSample

_FETCH_FIELDS = ("status", "http_status", "reason", "detail", "redirect_to", "content_type", "length", "truncated")
_ARCHIVE_FIELDS = ("ip", "response_ms", "warc_file", "warc_offset")
_PARSE_FIELDS = ("parse_status", "reason", "title", "language", "canonical", "noindex", "nofollow", "outlinks")


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("url")
def command(directory: str, url: str) -> int:
    """Show everything known about a URL, and why it was fetched or not.

    The first line is the verdict. Then follow: what the normalisers and filters do with the URL now, its record, its
    fetches, redirects, inlinks and duplicates. Exit code 1: nothing is known about the URL.

    \b
    Example:
      scoter explain mycrawl https://example.org/photo.jpg
    """
    from scoter.batch.jobs.explain import explain, explanation_facts, summarize

    with crawl_session("explain", directory, lock=False) as session:
        found = explain(session.crawl, session.config, url, now=session.now)
        sentence = summarize(found, session.now)
        if invocation().json:
            print_json(explanation_facts(found, sentence))
        else:
            for line in _lines(found, sentence, session.now):
                click.echo(visible(line))
            if found.remedy is not None and (allowing := found.remedy.command(directory)):
                click.echo(f"to allow it   {visible(allowing)}")
        is_known = found.record or found.fetches or found.links.count or found.redirected_from.count
        return 0 if is_known else NOTHING_TO_DO


def _lines(found: Explanation, sentence: str, now: datetime) -> Iterator[str]:
    yield f"{found.url}: {sentence}"
    yield ""
    if found.asked != found.url.text:
        yield f"asked for     {found.asked}"
    yield f"domain        {found.domain}"
    for step in found.normalizers:
        if step.changed:
            yield f"normaliser    {step.name}: {step.before} → {step.after or 'dropped'}"
    for step in found.filters:
        yield f"filter        {step.name} {'keeps' if step.kept else 'drops'} it{f' ({step.why})' if step.why else ''}"
    for rule in found.rules:
        yield f"rule          {rule}"
    if found.robots is not None:
        yield f"robots.txt    {'allows' if found.robots.allowed else 'disallows'} it ({found.robots.why})"
    yield from _record(found, now)
    for name in found.listed:
        yield f"fetch list    segment {name}, not fetched yet"
    for name in found.skipped:
        yield f"fetch list    segment {name}, whose fetch ended without requesting it"
    for row in found.fetches:
        yield f"fetch         segment {row['segment']}, {_time(row['fetch_time'], now)}: {_facts(row, _FETCH_FIELDS)}"
        if archived := _facts(row, _ARCHIVE_FIELDS):
            yield f"              {archived}"
    for row in found.parses:
        yield f"parse         segment {row['segment']}: {_facts(row, _PARSE_FIELDS)}"
    for hop in found.redirects:
        yield f"redirect      {hop['from']} → {hop['to']} (in the crawldb: {hop['known_as'] or 'unknown'})"
    yield from _some("redirected from", found.redirected_from, lambda row: f"{row['url']} ({row['status']})")
    yield from _some(
        f"links to it, total score {found.link_score:.4g}",
        found.links,
        lambda row: f"{row['score'] or 0:.4g}  {row['source']}  {row['anchor'] or ''}".rstrip(),
    )
    yield from _some(
        "inlinks in the linkdb", found.inlinks, lambda row: f"{row['url']}  {row['anchor'] or ''}".rstrip()
    )
    yield from _some("same content", found.duplicates, lambda row: f"{row['url']} ({row['status']})")


def _record(found: Explanation, now: datetime) -> Iterator[str]:
    from scoter.batch.crawldir.export import text_value

    if found.record is None:
        yield "record        none in the crawldb"
        return
    row = found.record
    due = "due" if found.is_due else "not due"
    retries = count(row["retries"] or 0, "retry", "retries")
    yield f"record        {row['status']}, score {row['score'] or 0:.4g}, {retries}"
    yield f"schedule      {due}: {_time(row['fetch_time'], now)}, every {(row['interval'] or 0) / 86_400:.3g} d"
    above = {"status", "score", "retries", "fetch_time", "interval", "url", "key", "host"}
    for name, value in row.items():
        if name not in above and value not in (None, {}):
            yield f"{name:<13} {text_value(value)}"


def _some(title: str, some: RowSample, line: Any) -> Iterator[str]:
    if not some.count:
        return
    first = f", the first {len(some.first)}" if some.count > len(some.first) else ""
    yield f"{title} ({some.count:,}{first})"
    for row in some.first:
        yield f"    {line(row)}"


def _facts(row: Mapping[str, Any], names: Sequence[str]) -> str:
    from scoter.batch.crawldir.export import text_value

    return ", ".join(
        f"{name.replace('_', ' ')} {text_value(row[name])}" for name in names if row[name] not in (None, False)
    )


def _time(value: datetime | None, now: datetime) -> str:
    return "at an unknown time" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC ({ago(value, now)})"
