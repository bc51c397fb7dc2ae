"""The files of a corpus: shards as Parquet or JSON lines, the list of dropped pages, and the README."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import pyarrow.compute as pc

from scoter.batch.crawldir.export import iter_rows
from scoter.export.corpus.columns import CORPUS, DROPPED, DroppedRows
from scoter.export.folder import ExportedFile, ExportFolder, FinishedShard, HashedFile, described_file
from scoter.export.formats import Shard, one_file, write_parquet
from scoter.store.disk import disk_errors, sync_file

CorpusForm: TypeAlias = Literal["parquet", "jsonl"]
DROPPED_FILE: Final = "dropped.parquet"
SAMPLE_FILE: Final = "sample.html"
CARD_FILE: Final = "README.md"
_encoder = msgspec.json.Encoder()


class CorpusFormat:
    """A file per shard, named as the library ``datasets`` expects the training data, and what belongs to all shards."""

    fields: tuple[str, ...] = ()
    is_archived = False

    def __init__(
        self, folder: ExportFolder, form: CorpusForm, dropped: DroppedRows, pages: Iterable[tuple[str, Iterable[str]]]
    ) -> None:
        """``pages`` are texts for people: their names and pieces."""
        self._folder = folder
        self._form = form
        self._dropped = dropped
        self._texts = pages

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        name = f"data/train-{shard.number:05d}.{self._form}"
        sums: Counter[str] = Counter()

        def counted() -> Iterator[Any]:
            for batch in rows:
                for total in ("words", "characters"):
                    sums[total] += pc.sum(batch.column(total)).as_py() or 0
                yield batch

        with self._folder.new_file(name) as file:
            number = _WRITERS[self._form](file, counted())
        return msgspec.structs.replace(one_file(shard, file.described(name, number)), counts=dict(sums))

    def finish(self) -> tuple[ExportedFile, ...]:
        with self._folder.new_file(DROPPED_FILE) as file:
            number = write_parquet(file, DROPPED, self._dropped.batches())
        written = [file.described(DROPPED_FILE, number)]
        for name, pieces in self._texts:
            with self._folder.new_file(name) as file:
                for piece in pieces:
                    file.write(piece.encode("utf-8", "replace"))
            written.append(file.described(name, 0))
        return tuple(written)


def write_page(pieces: Iterable[str], file: Path) -> ExportedFile:
    """Write a page for people to a file of its own, which appears when it is complete."""
    draft = file.with_name(f".{file.name}.part")
    with disk_errors("write the report", file):
        with draft.open("w", encoding="utf-8", errors="replace") as out:
            out.writelines(pieces)
        sync_file(draft)
        draft.replace(file)
    return described_file(file, file.name, 0)


def _parquet(file: HashedFile, rows: Iterator[Any]) -> int:
    return write_parquet(file, CORPUS, rows)


def _json_lines(file: HashedFile, rows: Iterator[Any]) -> int:
    number = 0
    for row in iter_rows(rows):
        file.write(_encoder.encode({name: _json_value(value) for name, value in row.items()}) + b"\n")
        number += 1
    return number


def _json_value(value: Any) -> Any:
    """Return a value for JSON. None is null: a file that begins with nulls would get another type than the others."""
    match value:
        case None:
            return ""  # only times are null
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case float():
            return round(value, 6)  # the digits that a 32-bit number has
    return value


_WRITERS: Final[dict[CorpusForm, Callable[[HashedFile, Iterator[Any]], int]]] = {
    "parquet": _parquet,
    "jsonl": _json_lines,
}
