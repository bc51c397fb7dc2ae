"""Which parts of a segment lack main text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.segment import Segment
from scoter.batch.main_text.captures import has_values
from scoter.errors import UserError
from scoter.store.objects.copies import local_file


class MissingPart(Struct, frozen=True):
    """A part whose pages have no main text yet, and how many pages it has."""

    segment: Segment
    name: str
    pages: int


def missing_parts(segment: Segment, *, markdown: bool) -> Iterator[MissingPart]:
    """Yield the parts for which main text has to be made: the crawl did not store it, and nothing made it since.

    ``markdown``: also those that have main text but no Markdown. Parts without an archive are left out.
    """
    made = set(segment.main_text(markdown=True).finished())
    made |= set() if markdown else set(segment.main_text().finished())
    texts = segment.parse_text()
    archived: bool | None = None
    for name in texts.finished():
        if name in made:
            continue
        location = texts.location(name)
        try:
            with pq.ParquetFile(local_file(location), pre_buffer=False) as file:
                pages = file.metadata.num_rows
                wanted = ("main_text", "markdown") if markdown else ("main_text",)
                is_whole = all(has_values(file, column) for column in wanted)
        except (OSError, pa.ArrowException) as failure:
            text = str(failure).partition("\n")[0]
            raise UserError(f"the file is damaged: {text}", where=location) from failure
        if archived is None:
            archived = _is_archived(segment)
        if pages and not is_whole and archived:
            yield MissingPart(segment, name, pages)


def _is_archived(segment: Segment) -> bool:
    """Return whether any page of a segment is in its archive."""
    fetches = segment.crawl_fetch()
    for name in fetches.finished():
        with pq.ParquetFile(local_file(fetches.location(name)), pre_buffer=False) as file:
            if has_values(file, "warc_file"):
                return True
    return False
