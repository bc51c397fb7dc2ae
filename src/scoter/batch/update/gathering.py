"""The inputs of an update: the crawldb, and the parts of segments that count."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import ibis
from msgspec.structs import replace

from scoter.batch import schemas
from scoter.batch.rewriting import changes_of, rewritten
from scoter.batch.segment import Segment
from scoter.batch.sift import Sieve
from scoter.batch.update import joining
from scoter.batch.update.links import columns_of_links, redirects_of, schema_of_redirects
from scoter.engine import Engine, Source, source_of
from scoter.engine.port import Rows
from scoter.plugins import Column
from scoter.store.tables import PartSet

_FOLLOWING = {"key": "its_key", "host": "its_host"}
_SAID = ("url", "key", "parse_status", "signature")


def sources(
    crawldb: Source, segments: Sequence[Segment], extra: Sequence[Column], *, parse_metadata: bool, link_sources: bool
) -> dict[str, Source]:
    """Return what an update reads, by name; redirects, which lie among the fetches, are not set apart yet."""
    found = {joining.CRAWLDB: crawldb}
    links: list[Source] = []
    for number, segment in enumerate(segments):
        fetches, pages = segment.crawl_fetch(extra), segment.parse_data()
        told = set(pages.finished()) if segment.is_fetched else {*pages.finished()} & {*fetches.finished()}
        found[f"{joining.FETCH}{number}"] = source_of(fetches)
        said = (*_SAID, "metadata") if parse_metadata else _SAID
        found[f"{joining.PARSE}{number}"] = _of(pages, told, said)
        links.append(_of(segment.crawl_parse(extra), told, columns_of_links(extra, sources=link_sources)))
    found[joining.LINKS] = replace(links[0], files=tuple(file for each in links for file in each.files))
    return found


def with_redirects(
    engine: Engine, found: Mapping[str, Source], segments: int, extra: Sequence[Column], folder: Path
) -> dict[str, Source]:
    """Return the inputs with the targets of redirects as an input of their own, since each has its own key."""
    names = [f"{joining.FETCH}{number}" for number in range(segments)]
    moved = [
        redirects_of(engine.read(found[name]), extra, number) for number, name in enumerate(names) if found[name].files
    ]
    kept = dict(found)
    datum = [*schemas.DATUM.names, *schemas.names(extra)]
    for name in names:
        kept[name] = source_of(found[name], datum)
    if moved:
        schema, file = schema_of_redirects(extra), folder / "redirects.parquet"
        if engine.save(ibis.union(*moved) if len(moved) > 1 else moved[0], schema, file):
            kept[joining.REDIRECTS] = Source(files=(str(file),), schema=schema, defaults={})
    return kept


def sifted(engine: Engine, found: Mapping[str, Source], sieve: Sieve, folder: Path) -> dict[str, Source]:
    """Return the inputs with every URL as the chains leave it, and without those that they drop."""
    urls = [engine.read(each).select("url") for each in found.values()]
    changes = changes_of(engine, ibis.union(*urls), sieve)
    return {name: _rewritten(engine, each, changes, folder / f"{name}.parquet") for name, each in found.items()}


def _rewritten(engine: Engine, source: Source, changes: Rows, file: Path) -> Source:
    beside = {name: its for name, its in _FOLLOWING.items() if name in source.schema.names}
    engine.save(rewritten(engine.read(source), changes, beside=beside), source.schema, file)
    return Source(files=(str(file),), schema=source.schema, defaults={})


def _of(parts: PartSet, names: set[str], columns: Sequence[str]) -> Source:
    """Return the parts of some names: the others belong to parts that never got theirs."""
    files = tuple(file for file, name in zip(parts.files, parts.finished(), strict=True) if name in names)
    return replace(source_of(parts, columns), files=files)
