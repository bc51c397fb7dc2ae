"""The embedded index: a tantivy index in the crawl directory, with the texts of its documents.

```
mycrawl/index/
  scoter.json       format, the last run, the languages of the documents, and the folder in use
  000001/           a complete index; writing all documents again makes a new one
    dictionary      what zstd compresses the texts with
    meta.json …     tantivy's own files
```

Every document has its title, content and anchor texts in the fields of its language (``title_en``, ``content_en``,
``anchor_en``), so that each is stemmed by its own rules. What a page says beside its main text (``rest_en``) counts
little, but no page is lost if the main text is wrong. Titles and anchors are also indexed unstemmed in ``words``, which
is where spelling suggestions come from. Words with symbols are terms in ``symbol``. The text for snippets is compressed
with a dictionary, after the places of the page's sections in it, and stored beside the fields that a result shows.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from struct import Struct as Layout
from typing import Any, Final
from zlib import crc32

import msgspec
import zstandard
from msgspec import Struct

from scoter.core.document import Document
from scoter.core.page import TERM_LEVEL
from scoter.errors import UsageError, UserError, typed
from scoter.index.damage import FileStamp, damaged, reading
from scoter.index.heading_keys import HEADING, heading_keys
from scoter.index.languages import PLAIN, STEMMERS, analyzer, code_of, is_unspaced, spaced, spread
from scoter.index.near_duplicates import sketch_of
from scoter.index.sections import TextSection, located
from scoter.index.symbols import MOST_SYMBOLS, SYMBOL, symbols_of
from scoter.store.disk import disk_errors, sync_folder
from scoter.store.formats import check_json_format

FORMAT: Final = 7
STATE: Final = "scoter.json"
DICTIONARY: Final = "dictionary"
CODES: Final = (PLAIN, *STEMMERS)
WORDS: Final = "words"
HOST_HASH: Final = "host_hash"

_HEAP: Final = 128_000_000
_DICTIONARY_SIZE: Final = 64 * 1024
_FEWEST_SAMPLES: Final = 64
_MOST_SAMPLES: Final = 160
"""More take time and hardly make texts smaller: 500 gain 0.3 % of the text."""
_LEVEL: Final = 3
_MOST_TEXT: Final = 2**20
_MOST_SECTIONS: Final = 500


class IndexState(Struct, frozen=True, kw_only=True):
    """The content of ``scoter.json``."""

    format: int = FORMAT
    run: int = 0
    languages: tuple[str, ...] = ()
    data: str = ""
    dictionary: int = 0
    """The checksum of the dictionary."""
    files: Mapping[str, FileStamp] = {}
    """The files that the last run left, of which the checksums need not be computed again."""


class ShownFields(Struct, frozen=True, omit_defaults=True):
    """The fields of a document that results show."""

    title: str = ""
    description: str = ""
    site: str = ""
    image: str = ""
    lang: str = ""
    type: str = ""
    date: datetime | None = None
    nosnippet: bool = False
    sketch: bytes = b""


_encode_shown = msgspec.msgpack.Encoder().encode
_decode_shown = msgspec.msgpack.Decoder(ShownFields).decode
_encode_sections = msgspec.msgpack.Encoder().encode
_decode_sections = msgspec.msgpack.Decoder(tuple[TextSection, ...]).decode
_SIZE: Final = Layout("<I")


def build_schema() -> Any:
    """Return tantivy's schema of the index."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in ("id", "host", "domain", "lang", "type"):
        builder.add_text_field(name, stored=name == "id", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("url", tokenizer_name=PLAIN, index_option="basic")
    builder.add_text_field(HEADING, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field(SYMBOL, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(WORDS, tokenizer_name=PLAIN, index_option="basic")
    for code in CODES:
        for name in ("title", "content", "anchor", "rest"):
            builder.add_text_field(f"{name}_{code}", tokenizer_name=code, index_option="position")
    builder.add_date_field("date", indexed=True, fast=True)
    builder.add_float_field("boost", fast=True)
    builder.add_unsigned_field(HOST_HASH, fast=True)
    builder.add_bytes_field("shown", stored=True)
    builder.add_bytes_field("text", stored=True)
    return builder.build()


class TextIndex:
    """An index that is open for reading or writing: ``folder`` has its state, and a folder with its data."""

    def __init__(self, folder: Path, index: Any, state: IndexState, dictionary: bytes) -> None:
        self.folder = folder
        self.index = index
        self.state = state
        for code in CODES:
            index.register_tokenizer(code, analyzer(code))
        known = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        if known is not None:
            known.precompute_compress(level=_LEVEL)  # otherwise it is prepared again for every text
        self._decompressor = zstandard.ZstdDecompressor(dict_data=known)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=known, write_content_size=True)

    @classmethod
    def open(cls, folder: Path) -> TextIndex:
        """Open an existing index."""
        import tantivy

        state = read_state(folder)
        if state is None:
            hint = f"Build it with: scoter index {typed(folder.parent)}"
            raise UsageError("there is no index yet", where=str(folder), hint=hint)
        data = folder / state.data
        with reading(folder):
            dictionary = (data / DICTIONARY).read_bytes()
            if crc32(dictionary) != state.dictionary:
                raise ValueError(f"the checksum of {DICTIONARY} is wrong")
            return cls(folder, tantivy.Index.open(str(data)), state, dictionary)

    @classmethod
    def create(cls, folder: Path, texts: Sequence[str]) -> TextIndex:
        """Create an empty index beside one that may exist; it is in use once its state is written.

        ``texts`` are samples of what it will hold.
        """
        import tantivy

        with disk_errors("create the index", folder):
            folder.mkdir(parents=True, exist_ok=True)
            used = [int(each.name) for each in folder.iterdir() if each.name.isdecimal()]
            data = folder / f"{max(used, default=0) + 1:06d}"
            data.mkdir()
            dictionary = _trained(texts)
            (data / DICTIONARY).write_bytes(dictionary)
            index = tantivy.Index(build_schema(), path=str(data))
        return cls(folder, index, IndexState(data=data.name, dictionary=crc32(dictionary)), dictionary)

    def write_state(self, state: IndexState) -> None:
        """Record the state durably."""
        draft = self.folder / f".{STATE}"
        with disk_errors("write the index", draft), draft.open("wb") as file:
            file.write(msgspec.json.encode(state) + b"\n")
            file.flush()
            os.fsync(file.fileno())
            draft.replace(self.folder / STATE)
            sync_folder(self.folder)
        self.state = state

    def tantivy_document(self, document: Document) -> tuple[Any, int]:
        """Return a document in tantivy's form, and about how many bytes it takes."""
        import tantivy

        fields = document.fields
        content = _text(fields, "content")
        title = _text(fields, "title")
        language = _text(fields, "lang")
        code = code_of(language)
        anchors = [text for text in fields.get("anchor", ()) if isinstance(text, str)]
        headings = [text for text in fields.get("heading", ()) if isinstance(text, str)]
        made = tantivy.Document()
        made.add_text("id", document.id)
        for field in ("host", "domain", "lang"):
            if value := _text(fields, field):
                made.add_text(field, value)
        for value in fields.get("type", ()):
            made.add_text("type", str(value))
        words = spread(content)
        text = content[:_MOST_TEXT]
        stored_text = text.encode()
        made.add_text(f"content_{code}", words)
        rest = spread(document.rest[:_MOST_TEXT])
        if rest:
            made.add_text(f"rest_{code}", rest)
        terms = [section.text for section in document.sections[:_MOST_SECTIONS] if section.level == TERM_LEVEL]
        short_texts = dict.fromkeys((*anchors, *headings, *terms))
        short = [document.id, title, *short_texts]
        if is_unspaced("".join(short)):
            short = [spaced(text) for text in short]
        address, name, *links = short
        made.add_text("url", address)
        made.add_text(f"title_{code}", name)
        for anchor in links:
            made.add_text(f"anchor_{code}", anchor)
        made.add_text(WORDS, "\n".join((name, *links)))
        if keys := heading_keys(title, (*headings, *(section.text for section in document.sections)), code):
            made.add_text(HEADING, keys)
        symbols = " ".join(islice(symbols_of("\n".join((title, *short_texts, text))), MOST_SYMBOLS))
        if symbols:
            made.add_text(SYMBOL, symbols)
        date = next((value for value in fields.get("date", ()) if isinstance(value, datetime)), None)
        if date is not None:
            made.add_date("date", date)
        made.add_float("boost", document.boost)
        made.add_unsigned(HOST_HASH, crc32(_text(fields, "host").encode()))
        shown = ShownFields(
            title=title,
            description=_text(fields, "description"),
            site=_text(fields, "site"),
            image=_text(fields, "image"),
            lang=language,
            type=_text(fields, "type"),
            date=date,
            nosnippet=bool(fields.get("nosnippet")),
            sketch=sketch_of(stored_text),
        )
        made.add_bytes("shown", _encode_shown(shown))
        sections = _encode_sections(located(document.sections, text)) if document.sections else b""
        stored = self._compressor.compress(_SIZE.pack(len(sections)) + sections + stored_text)
        made.add_bytes("text", stored)
        return made, len(stored) + sum(map(len, (words, rest, *links)))

    def text_of(self, stored: Any) -> str:
        """Return the text of a stored document."""
        return self.content_of(stored)[0]

    def content_of(self, stored: Any) -> tuple[str, Sequence[TextSection]]:
        """Return the text of a stored document, and its sections."""
        data = stored.get_first("text")
        if not data:
            return "", ()
        found = self._decompressor.decompress(bytes(data), max_output_size=8 * _MOST_TEXT)
        start = _SIZE.size + _SIZE.unpack_from(found)[0]
        sections = _decode_sections(found[_SIZE.size : start]) if start > _SIZE.size else ()
        return found[start:].decode(), sections

    def shown_of(self, stored: Any) -> ShownFields:
        """Return the fields of a stored document that results show."""
        data = stored.get_first("shown")
        return _decode_shown(bytes(data)) if data else ShownFields()


def read_state(folder: Path) -> IndexState | None:
    """Return the state of an index, or ``None`` if there is none."""
    file = folder / STATE
    with disk_errors("read the index", file):
        if not file.exists():
            return None
        data = file.read_bytes()
    rebuild = "To build the index again with this version, use scoter index --force."
    check_json_format("the index", data, FORMAT, where=str(folder), hint=rebuild)
    try:
        state = msgspec.json.decode(data, type=IndexState)
    except msgspec.DecodeError as failure:
        raise damaged(folder, failure) from failure
    if state.format < FORMAT:
        raise UserError(
            f"the index was made by an older version of Scoter (format {state.format})",
            where=str(folder),
            hint=f"Build it again with: scoter index {typed(folder.parent)}",
        )
    return state


def remove_unused(folder: Path, used: str) -> None:
    """Remove earlier versions of the data, and what a run left that was killed before it finished."""
    if folder.is_dir():
        for each in folder.iterdir():
            if each.name.isdecimal() and each.name != used:
                shutil.rmtree(each, ignore_errors=True)


def languages_of(documents: Iterable[Document]) -> Iterator[str]:
    """Yield the code of every document's language."""
    return (code_of(_text(document.fields, "lang")) for document in documents)


def _trained(texts: Sequence[str]) -> bytes:
    chosen = [text for text in texts if text]
    samples: list[Any] = [text.encode() for text in chosen[:: math.ceil(len(chosen) / _MOST_SAMPLES) or 1]]
    if len(samples) < _FEWEST_SAMPLES:
        return b""
    try:
        return zstandard.train_dictionary(_DICTIONARY_SIZE, samples).as_bytes()
    except zstandard.ZstdError:  # too little text to learn from
        return b""


def _text(fields: Any, name: str) -> str:
    values = fields.get(name)
    return values[0] if values and isinstance(values[0], str) else ""
