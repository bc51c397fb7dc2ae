"""Show what the live service knows of URLs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation, urls_from
from scoter.cli.output import note, paint, print_json, visible
from scoter.cli.service import seconds, service_options

if TYPE_CHECKING:
    from scoter.client import Client, Missing, UrlRecord
    from scoter.core.metadata import Image, PageMetadata

_COLOURS = {"ok": "green", "failed": "red", "gone": "yellow", "denied": "magenta", "refused": "magenta"}
_LABEL = 11
_FROM_STDIN = 300


def colour_of(state: str) -> str | None:
    """Return the colour of an outcome."""
    return _COLOURS.get(state)


@click.command()
@click.argument("urls", nargs=-1)
@click.option("--wait", metavar="TIME", callback=seconds, help="Wait so long in all for what is not known yet (5s).")
@service_options
def command(urls: tuple[str, ...], wait: float, server: str, key: str) -> int:
    """Show what the live service knows of URLs.

    Without URLs, or with a dash, they are read from standard input, one a line. Exit code 1 if nothing is known of one.

    \b
    Example:
      scoter lookup https://example.org/
      scoter lookup https://example.org/ --wait 5s --json
    """
    from scoter.client import Client, UrlRecord

    missing = number = 0
    with Client(server, key) as client:
        for asked, found in _looked_up(client, urls_from(urls), wait):
            is_known = isinstance(found, UrlRecord)
            missing += not is_known
            if invocation().json:
                print_json(found)
            else:
                sys.stdout.write("\n" if number else "")
                sys.stdout.writelines(line + "\n" for line in page(asked, found))
            number += 1
    if not number:
        note("No URL came in.")
    return 1 if missing or not number else 0


def _looked_up(client: Client, urls: Iterable[str], wait: float) -> Iterator[tuple[str, UrlRecord | Missing]]:
    from scoter.client import Absence, UrlRecord

    deadline = time.monotonic() + wait
    for group in _groups(urls):
        # The first look is for all of them at once: only what is not there is waited for.
        for url, found in zip(group, list(client.lookup_many(group)), strict=True):
            if isinstance(found, UrlRecord) or found.state is Absence.UNUSABLE:
                yield url, found
            else:
                left = deadline - time.monotonic()
                yield url, client.lookup(url, wait=left) if left > 0 else found


def _groups(urls: Iterable[str]) -> Iterator[list[str]]:
    from scoter.client.calls import chunks

    yield from chunks(urls, most=_FROM_STDIN)


def page(asked: str, found: UrlRecord | Missing) -> Iterator[str]:
    """Yield what is known of a URL, as lines for people."""
    from scoter.client import UrlRecord

    yield paint(visible(asked), bold=True)
    for label, text in _facts(found) if isinstance(found, UrlRecord) else [("state", _absence(found))]:
        state = found.state.value if label == "state" else ""
        yield f"  {label:<{_LABEL}} {paint(visible(text), colour_of(state))}"


def _absence(missing: Missing) -> str:
    told = {
        "pending": "pending: it was accepted and is not done yet",
        "unknown": "unknown: nobody has submitted it",
        "unusable": "unusable: this is not a URL",
    }
    return told[missing.state.value]


def _facts(record: UrlRecord) -> Iterator[tuple[str, str]]:
    state = [record.state.value, str(record.status or ""), record.kind.value, record.content_type]
    if record.length:
        state.append(f"{record.length:,} bytes" + (" (cut)" if record.truncated else ""))
    yield "state", " · ".join(filter(None, state))
    if record.reason:
        yield "reason", f"{record.reason}: {record.detail}" if record.detail else record.reason
    if record.resolved != record.url:
        yield "resolved", record.resolved
    for number, hop in enumerate(record.hops if len(record.hops) > 1 else ()):  # the last one is the page itself
        yield "" if number else "hops", f"{hop.status} {hop.url}" + (" (permanent)" if hop.permanent else "")
    if record.metadata is not None:
        yield from _said(record.metadata)
    if record.related is not None:
        yield "image is", f"{_image(record.related.image)} · {record.related.state} · {record.related.bytes:,} bytes"
    yield "fetched", f"{_moment(record.fetched_at)}, holds until {_moment(record.expires_at)}"
    if record.archived is not None:
        yield "archived", f"{record.archived.file} at {record.archived.offset:,}, {record.archived.length:,} bytes"


def _said(page: PageMetadata) -> Iterator[tuple[str, str]]:
    authors = ", ".join(author.name for author in page.authors)
    told = {
        "title": page.title,
        "description": page.description,
        "site": page.site_name,
        "type": page.type,
        "author": authors,
        "published": _moment(page.published) if page.published else "",
        "modified": _moment(page.modified) if page.modified else "",
        "language": page.language,
        "keywords": ", ".join(page.keywords),
        "canonical": page.canonical,
        "image": _image(page.image) if page.image else "",
        "icon": page.icon.url if page.icon else "",
    }
    yield from ((label, text) for label, text in told.items() if text)
    for number, media in enumerate(page.media):
        yield "" if number else "media", f"{media.kind} {media.url}"
    for number, feed in enumerate(page.feeds):
        yield "" if number else "feeds", feed.url


def _image(image: Image) -> str:
    size = f"{image.width} × {image.height}" if image.width and image.height else ""
    told = ", ".join(filter(None, [size, image.media_type, image.alt]))
    return f"{image.url} ({told})" if told else image.url


def _moment(moment: datetime) -> str:
    if moment.tzinfo is None:
        return moment.isoformat(" ", "seconds")
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
