"""The writer of the embedded index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Setting
from scoter.config.units import Size
from scoter.core.document import Document, RejectedDocument
from scoter.errors import MadeByNewer, UserError
from scoter.heap import give_back
from scoter.index.damage import check_files, damaged, file_stamps, is_panic, reading
from scoter.index.text_index import TextIndex, languages_of, read_state, remove_unused
from scoter.plugins import IndexRun, Setup

FOLDER: Final = "index"
_SMALLEST_HEAP: Final = 15_000_000
_CORRUPT: Final = "corrupt"
_MOST_QUEUED: Final = 64 * 2**20
_FULL_CHECK: Final = 16  # runs, after which the checksums of unchanged files are verified again


class TantivySettings(Struct, frozen=True):
    """The index and the memory for building it."""

    folder: Annotated[Path | None, Setting("Folder of the index; by default index in the crawl directory.")] = None
    memory: Annotated[Size, Setting("Memory for documents that are not on disk yet.", at_least=16 * 2**20)] = Size(
        128 * 2**20
    )


class TantivyIndexWriter:
    """Writes documents to the embedded index, which `scoter search` reads."""

    Settings = TantivySettings

    def __init__(self, setup: Setup) -> None:
        self.settings: TantivySettings = setup.settings
        self._folder = Path()
        self._run = IndexRun(directory=Path(), number=0)
        self._index: TextIndex | None = None
        self._writer: Any = None
        self._is_new = False
        self._queued = 0
        self._languages: set[str] = set()

    def is_current(self, run: IndexRun) -> bool:
        """Return whether the index is intact and has all documents of the runs before this one."""
        folder = self._where(run)
        try:
            state = read_state(folder)
            if state is not None and state.run >= run.number - 1:
                with reading(folder):
                    TextIndex.open(folder).index.searcher()
                    is_due = run.number % _FULL_CHECK == 0
                    check_files(folder / state.data, {} if is_due else state.files)
                return True
        except MadeByNewer:
            raise
        except UserError:
            return False
        return state is None and run.number <= 1

    def open(self, run: IndexRun) -> None:
        self._folder = self._where(run)
        self._run = run
        try:
            state = read_state(self._folder)
        except UserError:
            if not run.rebuild:
                raise
            state = None
        remove_unused(self._folder, state.data if state is not None else "")
        if run.rebuild or state is None:
            return  # a new index is made with the first documents, which it learns from
        found = TextIndex.open(self._folder)
        self._start(found)
        self._languages.update(found.state.languages)

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        with self._explained():
            index = self._index or self._created(documents)
            self._languages.update(languages_of(documents))
            for document in documents:
                if not self._is_new:
                    self._writer.delete_documents_by_term("id", document.id)
                made, size = index.tantivy_document(document)
                self._writer.add_document(made)
                self._queued += size
                if self._queued > _MOST_QUEUED:
                    # Tantivy queues 10,000 documents, however long they are. Waiting for it keeps memory bounded.
                    self._writer.commit()
                    give_back()
                    self._queued = 0
        return ()

    def delete(self, ids: Sequence[str]) -> None:
        with self._explained():
            if self._writer is not None:
                for each in ids:
                    self._writer.delete_documents_by_term("id", each)

    def commit(self) -> Sequence[RejectedDocument]:
        with self._explained():
            index = self._index or self._created(())
            self._writer.commit()
            self._writer.wait_merging_threads()
            self._writer = None
            languages = tuple(sorted(self._languages))
            files = file_stamps(self._folder / index.state.data)
            index.write_state(replace(index.state, run=self._run.number, languages=languages, files=files))
            remove_unused(self._folder, index.state.data)
        return ()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.rollback()
        self._writer = self._index = None

    def _where(self, run: IndexRun) -> Path:
        return self.settings.folder or run.directory / FOLDER

    def _created(self, documents: Sequence[Document]) -> TextIndex:
        samples = [text for document in documents for text in document.fields.get("content", ())]
        index = TextIndex.create(self._folder, samples)
        self._is_new = True
        self._start(index)
        return index

    def _start(self, index: TextIndex) -> None:
        self._index = index
        try:
            self._writer = index.index.writer(heap_size=max(self.settings.memory, _SMALLEST_HEAP), num_threads=1)
        except ValueError as failure:
            if "lock" in str(failure).lower():
                hint = "Wait until the other command ends. If there is none, remove .tantivy-writer.lock there."
                raise UserError("another process is writing the index", where=str(self._folder), hint=hint) from failure
            raise damaged(self._folder, failure) from failure

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn tantivy's errors into messages that say what to do."""
        try:
            yield
        except BaseException as failure:
            if is_panic(failure):
                raise damaged(self._folder, failure) from failure
            if not isinstance(failure, ValueError | OSError):
                raise
            if _CORRUPT in str(failure).lower():
                raise damaged(self._folder, failure) from failure
            text = str(failure).partition("\n")[0]
            raise UserError(
                f"cannot write the index: {text}",
                where=str(self._folder),
                hint="If the disk is full, free some space and repeat the command: it continues where it stopped.",
            ) from failure
