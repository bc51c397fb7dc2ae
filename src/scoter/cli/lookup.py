"""Show what the live service knows about URLs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from scoter.cli.files import read_urls
from scoter.cli.invocation import NOTHING_TO_DO, Duration, invocation, service_options
from scoter.cli.output import note, paint, print_json, visible
from scoter.core.display import size

if TYPE_CHECKING:
    from scoter.client import Client, Missing, UrlRecord
    from scoter.core.metadata import Image, PageMetadata

_COLOURS = {
    "ok": "green",
    "failed": "red",
    "challenged": "red",
    "gone": "yellow",
    "denied": "magenta",
    "refused": "magenta",
}
_LABEL_WIDTH = 11
_URLS_PER_REQUEST = 300
_ABSENCES = {
    "pending": "pending: accepted, not fetched yet",
    "unknown": "unknown: never submitted",
    "unusable": "unusable: not a URL",
}


def colour_of(state: str) -> str | None:
    """Return the colour of a state."""
    return _COLOURS.get(state)


@click.command()
@click.argument("urls", nargs=-1)
@click.option(
    "--wait",
    type=Duration(),
    default="0s",
    metavar="TIME",
    help="Wait up to this long in total for URLs without a record, such as 5s.",
)
@service_options
def command(urls: tuple[str, ...], wait: timedelta, server: str, key: str) -> int:
    """Show what the live service knows about URLs.

    Without URLs, or with a dash, URLs are read from stdin, one per line. Exit code 1: some URL has no record.

    \b
    Example:
      scoter lookup https://example.org/
      scoter lookup https://example.org/ --wait 5s --json
    """
    from scoter.client import Client, UrlRecord

    missing = number = 0
    with Client(server, key) as client:
        for url, found in _look_up(client, read_urls(urls), wait.total_seconds()):
            missing += not isinstance(found, UrlRecord)
            if invocation().json:
                print_json(found)
            else:
                sys.stdout.write("\n" if number else "")
                sys.stdout.writelines(line + "\n" for line in _lines(url, found))
            number += 1
    if not number:
        note("No URLs given.")
    return NOTHING_TO_DO if missing or not number else 0


def _look_up(client: Client, urls: Iterable[str], wait: float) -> Iterator[tuple[str, UrlRecord | Missing]]:
    from scoter.client import Absence, UrlRecord
    from scoter.client.calls import chunks

    deadline = time.monotonic() + wait
    for group in chunks(urls, most=_URLS_PER_REQUEST):
        # Look up the whole group first, then wait only for URLs without a record.
        for url, found in zip(group, list(client.lookup_many(group)), strict=True):
            if isinstance(found, UrlRecord) or found.state is Absence.UNUSABLE:
                yield url, found
            else:
                left = deadline - time.monotonic()
                yield url, client.lookup(url, wait=left) if left > 0 else found


def _lines(url: str, found: UrlRecord | Missing) -> Iterator[str]:
    from scoter.client import UrlRecord

    yield paint(visible(url), bold=True)
    for label, text in _facts(found) if isinstance(found, UrlRecord) else [("state", _ABSENCES[found.state.value])]:
        state = found.state.value if label == "state" else ""
        yield f"  {label:<{_LABEL_WIDTH}} {paint(visible(text), colour_of(state))}"


def _facts(record: UrlRecord) -> Iterator[tuple[str, str]]:
    state = [record.state.value, str(record.status or ""), record.kind.value, record.content_type]
    if record.length:
        state.append(size(record.length) + (" (truncated)" if record.truncated else ""))
    yield "state", " · ".join(filter(None, state))
    if record.reason:
        yield "reason", f"{record.reason}: {record.detail}" if record.detail else record.reason
    if stale := record.stale:
        why = f"{stale.reason}: {stale.detail}" if stale.detail else stale.reason
        when = f"not fetched at {_time(stale.failed_at)}, next try after {_time(stale.retry_at)}"
        yield "stale", f"{why}; {when}"
    elif record.retry_at:
        yield "next try", f"after {_time(record.retry_at)}"
    if record.resolved != record.url:
        yield "resolved", record.resolved
    for number, hop in enumerate(record.hops if len(record.hops) > 1 else ()):  # the last one is the page itself
        yield "" if number else "hops", f"{hop.status} {hop.url}" + (" (permanent)" if hop.permanent else "")
    if record.metadata is not None:
        yield from _metadata(record.metadata)
    if related := record.related:
        yield "fetched img", f"{_image(related.image)} · {related.state} · {size(related.bytes)}"
    yield "fetched", f"{_time(record.fetched_at)}, valid until {_time(record.expires_at)}"
    if archived := record.archived:
        yield "archived", f"{archived.file} at {archived.offset:,}, {size(archived.length)}"


def _metadata(page: PageMetadata) -> Iterator[tuple[str, str]]:
    facts = {
        "title": page.title,
        "description": page.description,
        "site": page.site_name,
        "type": page.type,
        "author": ", ".join(author.name for author in page.authors),
        "published": _time(page.published) if page.published else "",
        "modified": _time(page.modified) if page.modified else "",
        "language": page.language,
        "keywords": ", ".join(page.keywords),
        "canonical": page.canonical,
        "image": _image(page.image) if page.image else "",
        "icon": page.icon.url if page.icon else "",
    }
    yield from ((label, text) for label, text in facts.items() if text)
    for number, media in enumerate(page.media):
        yield "" if number else "media", f"{media.kind} {media.url}"
    for number, feed in enumerate(page.feeds):
        yield "" if number else "feeds", feed.url


def _image(image: Image) -> str:
    dimensions = f"{image.width} × {image.height}" if image.width and image.height else ""
    details = ", ".join(filter(None, [dimensions, image.media_type, image.alt]))
    return f"{image.url} ({details})" if details else image.url


def _time(moment: datetime) -> str:
    if moment.tzinfo is None:
        return moment.isoformat(" ", "seconds")
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
