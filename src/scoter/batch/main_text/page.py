"""The main text of one page of a segment, for programs that show a single page. It is not kept."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from scoter.batch.crawldir.segment import Segment
from scoter.batch.main_text.captures import Captures, Place, html_places
from scoter.batch.main_text.hosts import SAMPLE
from scoter.config import Config
from scoter.parse.main import KnownBlocks, MainContent, block_fingerprints, main_content


def page_main_text(segment: Segment, config: Config, fetch: Mapping[str, Any]) -> MainContent | None:
    """Return the main text and the Markdown of a page, given its row of ``crawl_fetch``.

    ``None`` if it is not in the archive or not HTML. What its host repeats is learnt from the first other pages of it.
    """
    if not fetch.get("warc_file"):
        return None
    place = Place(
        url=fetch["url"],
        host=fetch["host"] or "",
        file=fetch["warc_file"],
        offset=fetch["warc_offset"],
        truncated=fetch["truncated"] or "",
    )
    with Captures(segment, config) as captures:
        markup = captures.markup(place)
        if markup is None:
            return None
        parts = segment.crawl_fetch().finished()
        of_host = (each for part in parts for each in html_places(segment, part) if each.host == place.host)
        known = KnownBlocks()
        for other in islice(of_host, SAMPLE):
            found = captures.markup(other)
            if found is not None:
                known = known.add(block_fingerprints(found.utf8))
        return main_content(markup.utf8, base=markup.base, markdown=True, encoding=markup.encoding, known=known)
