"""Tell all that is known of a URL, and why it was fetched or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import print_json, visible

if TYPE_CHECKING:
    from scoter.batch.explain import Explanation, Some
    from scoter.core.chain import Step

_FETCH = ("status", "http_status", "reason", "detail", "redirect_to", "content_type", "length", "truncated")
_PLACE = ("ip", "response_ms", "warc_file", "warc_offset")
_PARSE = ("parse_status", "reason", "title", "language", "canonical", "noindex", "nofollow", "outlinks")


@click.command()
@click.argument("directory")
@click.argument("url")
def command(directory: str, url: str) -> int:
    """Tell all that is known of a URL, and why it was fetched or not.

    The first line is the verdict. What follows: what the normalisers and filters say of the URL now, its record, its
    fetches, redirects, links to it and duplicates. Exit code 1 when nothing is known of it.

    \b
    Example:
      scoter explain mycrawl https://example.org/photo.jpg
    """
    from scoter.batch.explain import explain, verdict

    with working("explain", directory, lock=False) as work:
        found = explain(work.crawl, work.config, url, now=work.now)
        sentence = verdict(found, work.now)
        if invocation().json:
            print_json(_object(found, sentence))
        else:
            for line in _lines(found, sentence, work.now):
                click.echo(visible(line))
        return 0 if found.record or found.fetches or found.links.count or found.redirected_from.count else 1


def _object(found: Explanation, sentence: str) -> Any:
    import msgspec

    from scoter.batch.crawldir.export import plain

    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name not in ("url", "datum")}
    for name in ("links", "inlinks", "redirected_from", "duplicates"):
        fields[name] = msgspec.structs.asdict(fields[name])
    for name in ("normalizers", "filters"):
        fields[name] = [_said(step) for step in fields[name]]
    return plain({"url": found.url.text, "key": found.url.key, "host": found.url.host, "verdict": sentence, **fields})


def _said(step: Step) -> dict[str, Any]:
    return {"name": step.name, "before": step.before, "after": step.after, "why": step.why}


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
    yield from _record(found, now)
    for name in found.listed:
        yield f"listed        in segment {name}, not fetched yet"
    for name in found.skipped:
        yield f"listed        in segment {name}, which ended without asking for it"
    for row in found.fetches:
        yield f"fetch         segment {row['segment']}, {_moment(row['fetch_time'], now)}: {_facts(row, _FETCH)}"
        if place := _facts(row, _PLACE):
            yield f"              {place}"
    for row in found.parses:
        yield f"parse         segment {row['segment']}: {_facts(row, _PARSE)}"
    for hop in found.redirects:
        yield f"redirect      {hop['from']} → {hop['to']} (in the crawldb: {hop['known_as'] or 'unknown'})"
    yield from _some("redirected from", found.redirected_from, lambda row: f"{row['url']} ({row['status']})")
    yield from _some(
        f"links to it, score {found.link_score:.4g} in all",
        found.links,
        lambda row: f"{row['score'] or 0:.4g}  {row['source']}  {row['anchor'] or ''}".rstrip(),
    )
    yield from _some(
        "inlinks of the linkdb", found.inlinks, lambda row: f"{row['url']}  {row['anchor'] or ''}".rstrip()
    )
    yield from _some("same content", found.duplicates, lambda row: f"{row['url']} ({row['status']})")


def _record(found: Explanation, now: datetime) -> Iterator[str]:
    from scoter.batch.crawldir.export import shown

    if found.record is None:
        yield "record        none in the crawldb"
        return
    row = found.record
    due = "due" if found.is_due else "not due"
    yield f"record        {row['status']}, score {row['score'] or 0:.4g}, {row['retries'] or 0} retries"
    yield f"schedule      {due}: {_moment(row['fetch_time'], now)}, every {(row['interval'] or 0) / 86_400:.3g} d"
    told = {"status", "score", "retries", "fetch_time", "interval", "url", "key", "host"}
    for name, value in row.items():
        if name not in told and value not in (None, {}):
            yield f"{name:<13} {shown(value)}"


def _some(title: str, some: Some, spell: Any) -> Iterator[str]:
    if not some.count:
        return
    more = f", the first {len(some.first)}" if some.count > len(some.first) else ""
    yield f"{title} ({some.count:,}{more})"
    for row in some.first:
        yield f"    {spell(row)}"


def _facts(row: Mapping[str, Any], names: Sequence[str]) -> str:
    from scoter.batch.crawldir.export import shown

    return ", ".join(f"{name.replace('_', ' ')} {shown(row[name])}" for name in names if row[name] not in (None, False))


def _moment(value: datetime | None, now: datetime) -> str:
    from scoter.core.display import ago

    return "at an unknown time" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC ({ago(value, now)})"
