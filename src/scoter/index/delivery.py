"""Delivering documents to the active index writers, in batches of bounded size."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config, plugin_key
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.core.document import Document, RejectedDocument
from scoter.errors import UsageError, UserError
from scoter.index.routes import FieldMapping, WriterEntry, WriterPlan
from scoter.plugins import POINTS, IndexRun, IndexWriter, find
from scoter.store.disk import Closing

MOST_FIELDS: Final = 1_000
MOST_VALUES: Final = 1_000
LONGEST_VALUE: Final = 2**20
LONGEST_NAME: Final = 256
LONGEST_DOCUMENT: Final = 8 * 2**20
MOST_REJECTED: Final = 10_000
_LARGEST_NUMBER: Final = 2**63
_BATCH: Final = 500
_BATCH_LENGTH: Final = 4 * 2**20


class _OpenWriter(Struct):
    """A writer with its mapping, and the documents and deletions that it has not been given yet."""

    writer: IndexWriter
    mapping: FieldMapping
    documents: list[Document]
    ids: list[str]
    length: int = 0

    def flush(self) -> Sequence[RejectedDocument]:
        """Pass on what was collected, and return the documents that were rejected."""
        if self.ids:
            self.writer.delete(self.ids)
            self.ids = []
        documents, self.documents, self.length = self.documents, [], 0
        return self.writer.write(documents) if documents else ()


class DocumentDelivery(Closing):
    """Takes documents and deletions and passes them on to the writers that should get them."""

    def __init__(self, plan: WriterPlan, config: Config, run: IndexRun, now: datetime) -> None:
        self._plan = plan
        self._now = now
        self._open: dict[str, _OpenWriter] = {}
        self.sent: Counter[str] = Counter()
        """The number of documents for each writer."""
        self.unrouted = 0
        """The number of documents that go to no writer."""
        self.rejected: dict[str, str] = {}
        """The ids of documents that a writer rejected, and why."""
        with ExitStack() as stack:
            for entry in plan.writers:
                made = _made(entry, config)
                stack.callback(made.close)
                made.open(run)
                self._open[entry.name] = _OpenWriter(made, entry.mapping, [], [])
            self._stack = stack.pop_all()

    def add(self, document: Document) -> None:
        """Pass on a document, replacing an earlier one with the same id.

        If it no longer goes to a writer that may have it, it is deleted there.
        """
        document = bounded(document)
        names = self._plan.writers_of(document, self._now)
        self.unrouted += not names
        for name, target in self._open.items():
            if name not in names:
                target.ids.append(document.id)
            else:
                mapped = target.mapping.apply(document)
                target.documents.append(mapped)
                target.length += sum(
                    [len(each) for values in mapped.fields.values() for each in values if type(each) is str]
                )
                self.sent[name] += 1
            if len(target.documents) >= _BATCH or len(target.ids) >= _BATCH or target.length >= _BATCH_LENGTH:
                self._reject(name, target.flush())

    def delete(self, document_id: str) -> None:
        """Delete a document from every writer."""
        for name, target in self._open.items():
            target.ids.append(document_id)
            if len(target.ids) >= _BATCH:
                self._reject(name, target.flush())

    def commit(self) -> None:
        """Make everything durable in every index."""
        for name, target in self._open.items():
            self._reject(name, target.flush())
            self._reject(name, target.writer.commit())

    def _reject(self, name: str, found: Sequence[RejectedDocument]) -> None:
        for each in found:
            self.rejected.setdefault(each.id, f"{name}: {each.reason}")
        if len(self.rejected) > MOST_REJECTED:
            reason = next(iter(self.rejected.values()))
            raise UserError(
                f"the index rejected more than {MOST_REJECTED:,} documents; the first: {reason}",
                hint="Fix the index or the field mapping, and repeat the command.",
            )

    def close(self) -> None:
        """Close the writers; what was not committed is dropped where a writer can."""
        self._stack.close()


def needs_rebuild(plan: WriterPlan, config: Config, run: IndexRun) -> bool:
    """Return whether an index lacks documents of earlier runs, for example because somebody removed it.

    Only writers that have ``is_current(run)`` can tell.
    """
    made = (_made(entry, config) for entry in plan.writers)
    return not all(each.is_current(run) for each in made if hasattr(each, "is_current"))


def check_folders(plan: WriterPlan, config: Config) -> None:
    """Raise if a writer would put its files into the crawl directory, for a crawl that has no local one."""
    for entry in plan.writers:
        settings: Any = getattr(_made(entry, config), "settings", None)
        if hasattr(settings, "folder") and settings.folder is None:
            raise UsageError(
                f"the index writer {entry.name} needs a local folder, and a crawl in an object store has none",
                where="index.writers",
                hint="Set its folder, or use a writer for a server; see docs/object-stores.md.",
            )


def _made(entry: WriterEntry, config: Config) -> Any:
    return find(POINTS["indexwriter"], entry.type).make(_with_settings(config, entry.type, entry.settings))


def bounded(document: Document) -> Document:
    """Return a document that every index can store.

    Fields and values beyond a number or a total length are dropped, long texts truncated, NULs removed, and lone
    surrogates replaced.
    """
    if _is_bounded(document.fields):
        return document
    fields: dict[str, tuple[Any, ...]] = {}
    room = LONGEST_DOCUMENT
    for name, values in document.fields.items():
        if len(fields) == MOST_FIELDS or room <= 0:
            break
        kept: list[Any] = []
        for value in values[:MOST_VALUES]:
            if room <= 0:
                break
            kept.append(_storable(value))
            room -= len(kept[-1]) if isinstance(kept[-1], str) else 8
        known_as = _storable(name)[:LONGEST_NAME]
        if kept and known_as:
            fields[known_as] = tuple(kept)
    return document if fields == document.fields else replace(document, fields=fields)


def _is_bounded(fields: Mapping[str, tuple[Any, ...]]) -> bool:
    """Return whether nothing needs to be changed; a document that is unusual in any way may only need it.

    All texts are checked at once, which is much faster than one after the other.
    """
    if len(fields) > MOST_FIELDS:
        return False
    texts: list[str] = []
    others: list[Any] = []
    for name, values in fields.items():
        if not 0 < len(name) <= LONGEST_NAME or not 0 < len(values) <= MOST_VALUES:
            return False
        texts.append(name)
        for value in values:
            (texts if type(value) is str else others).append(value)
    text = "".join(texts)
    if len(text) + 8 * len(others) > LONGEST_VALUE or "\0" in text:
        return False
    if not text.isascii():
        try:
            text.encode()  # the fastest search for lone surrogates
        except UnicodeEncodeError:
            return False
    return all(_storable(value) is value for value in others)


def _storable(value: Any) -> Any:
    if isinstance(value, int) and not -_LARGEST_NUMBER <= value < _LARGEST_NUMBER:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, str):
        return value
    if len(value) > LONGEST_VALUE:
        value = value[:LONGEST_VALUE]
    if "\0" in value:
        value = value.replace("\0", "")
    if not value.isascii():
        try:
            value.encode()  # the fastest search for lone surrogates
        except UnicodeEncodeError:
            value = value.encode("utf-8", "replace").decode()
    return value


def _with_settings(config: Config, kind: str, given: Mapping[str, Any]) -> Config:
    """Return the configuration with the settings of one writer, which override those of its plug-in."""
    if not given:
        return config
    key = plugin_key(f"indexwriter-{kind}")
    file = config.index.writers_file
    origin = SettingOrigin("file", str(file or ""), folder=str(file.parent) if file else "")
    table = {name: GivenValue(f"plugin.indexwriter-{kind}.{name}", value, origin) for name, value in given.items()}
    return replace(config, plugin={**config.plugin, key: {**config.plugin.get(key, {}), **table}})
