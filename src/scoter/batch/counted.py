"""What of segments counts: the parts that their own step, or the fetch that made them, has brought to an end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from msgspec import Struct

from scoter.batch import schemas
from scoter.batch.segment import Segment
from scoter.engine.sources import Source
from scoter.plugins import Column
from scoter.store.tables.schema import defaults_of, with_columns


class Counted(Struct, frozen=True, kw_only=True):
    """The sources of one or more segments."""

    generate: Source
    fetch: Source
    parse_data: Source
    parse_text: Source
    links: Source


def counted(segments: Sequence[Segment], extra: Sequence[Column] = ()) -> Counted:
    """Return the parts of segments that count, together.

    While a segment is being fetched, a part of another table counts when that of ``crawl_fetch`` has its name; what
    is parsed later counts when that of ``parse_data`` has.
    """
    generates: list[str] = []
    fetches: list[str] = []
    datas: list[str] = []
    texts: list[str] = []
    links: list[str] = []
    for segment in segments:
        fetch, data = segment.crawl_fetch().files, segment.parse_data().files
        of_data = data if segment.is_fetched else _named(data, fetch)
        generates += segment.crawl_generate().files
        fetches += fetch
        datas += of_data
        texts += _named(segment.parse_text().files, of_data)
        links += _named(segment.crawl_parse().files, of_data)
    return Counted(
        generate=_source(generates, schemas.CRAWL_GENERATE, extra),
        fetch=_source(fetches, schemas.CRAWL_FETCH, extra),
        parse_data=_source(datas, schemas.PARSE_DATA),
        parse_text=_source(texts, schemas.PARSE_TEXT),
        links=_source(links, schemas.CRAWL_PARSE, extra),
    )


def _named(files: Iterable[str], like: Iterable[str]) -> tuple[str, ...]:
    names = {PurePath(each).name for each in like}
    return tuple(each for each in files if PurePath(each).name in names)


def _source(files: Iterable[str], schema: Any, extra: Sequence[Column] = ()) -> Source:
    return Source(files=tuple(files), schema=with_columns(schema, extra), defaults=defaults_of(extra))
