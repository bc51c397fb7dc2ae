"""An index in files that a browser searches by itself: `scoter search-site`.

```
site/
  index.html, page.css, page.js   a page that shows the search box
  search-box.js, search-files.js  the box, and what searches
  search.json                     the number of pages, the first term of every shard, and the folder in use
  0123456789abcdef/               named by its content, so that a browser never mixes two versions
    terms/12.bin                  shards of the inverted index (``term_shards``)
    pages/0/34.bin                packs of pages: addresses, titles and texts, as JSON, compressed with gzip
```

The same index gives the same files. The folder is written beside its place and renamed when it is complete.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.errors import UsageError
from scoter.sitesearch.box_files import BOX, box_file
from scoter.sitesearch.hits import AddressMap
from scoter.sitesearch.site_pages import SitePage, SitePages
from scoter.sitesearch.term_runs import TermRuns
from scoter.sitesearch.term_shards import LEVELS, gzipped, shards
from scoter.sitesearch.words import WordCounts, saturated
from scoter.store.disk import disk_errors, sync_folder, sync_tree

FORMAT: Final = 1
DIRECTORY: Final = "search.json"
LONGEST_TEXT: Final = 32 * 1024
"""Characters of a page from which excerpts are made; the words after them are found, but not shown."""
_PACK_SIZE: Final = 8 * 1024  # characters in a pack, on average
_MOST_IN_PACK: Final = 16
_SAMPLE: Final = 500
_FOLDER_BITS: Final = 10
# Weights, and average lengths in words. A heading is in the text, too.
_TITLE, _HEADINGS, _TEXT = (2.5, 6.0), (1.0, 30.0), 1.0
_LEAST_LEVEL, _LEVEL_STEP = 0.2, 1.33  # search-box.js knows them, too


class SiteIndexResult(Struct, frozen=True, kw_only=True):
    """What was written."""

    pages: int
    terms: int
    files: int
    bytes: int


class _Directory(Struct, frozen=True, kw_only=True):
    """The content of ``search.json``."""

    format: int = FORMAT
    folder: str
    pages: int
    in_pack: int
    shards: list[str]


class _Tally:
    """Files as they are written: their number, size and digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = self.bytes = 0
        self._digest = sha256()

    def write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.files += 1
        self.bytes += len(data)
        self._digest.update(name.encode() + sha256(data).digest())

    @property
    def name(self) -> str:
        return self._digest.hexdigest()[:16]


def write_site_files(
    index: Path,
    out: Path,
    *,
    addresses: AddressMap = AddressMap(),  # noqa: B008  it never changes
    memory: int = 8_000_000,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> SiteIndexResult:
    """Write the files for an index to a folder; one that this command made before is replaced."""
    out = out.absolute()
    _check_replaceable(out)
    pages = SitePages(index)
    with disk_errors("write the search files", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            draft.chmod(0o755)
            done = _write(pages, draft, addresses, memory, on_progress)
            sync_tree(draft)
            _replace(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return done


def _check_replaceable(out: Path) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        msgspec.json.decode((out / DIRECTORY).read_bytes(), type=_Directory)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            "the folder exists and is not one that scoter search-site made",
            where=str(out),
            hint="Name a new folder with --out; all of it would be replaced.",
        ) from error


def _replace(draft: Path, out: Path) -> None:
    """Put the new folder in its place; the old one is complete until then."""
    old = Path(mkdtemp(prefix=f".{out.name}-old-", dir=out.parent))
    try:
        if out.exists():
            out.rename(old / "site")
        draft.rename(out)
        sync_folder(out.parent)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _write(
    pages: SitePages,
    draft: Path,
    addresses: AddressMap,
    memory: int,
    on_progress: Callable[[int, int], None],
) -> SiteIndexResult:
    total = len(pages)
    source = iter(pages)
    sample = list(islice(source, _SAMPLE))
    length = sum(len(page.text) for page in sample) / max(1, len(sample))
    in_pack = max(1, min(_MOST_IN_PACK, round(_PACK_SIZE / max(1.0, min(length, LONGEST_TEXT)))))
    tally = _Tally(draft / "new")
    with TemporaryDirectory(prefix="runs-", dir=draft) as scratch:
        runs = TermRuns(Path(scratch), memory)
        pack: list[Any] = []
        for number, page in enumerate(chain(sample, source)):
            runs.add(number, *_terms(page, length / 6))
            pack.append(_shown(page, addresses))
            if len(pack) == in_pack:
                _write_pack(tally, number // in_pack, pack)
                pack = []
                on_progress(number + 1, total)
        if pack:
            _write_pack(tally, number // in_pack, pack)
        first_terms, terms = [], 0
        for count, shard in enumerate(shards(runs.merged())):
            tally.write(f"terms/{count}.bin", shard.data)
            first_terms.append(shard.first)
            terms += shard.terms
    folder = tally.name
    tally.folder.mkdir(exist_ok=True)
    tally.folder.rename(draft / folder)
    directory = _Directory(folder=folder, pages=total, in_pack=in_pack, shards=first_terms)
    tally.folder = draft
    tally.write(DIRECTORY, msgspec.json.encode(directory) + b"\n")
    for name in (BOX, "search-files.js", "page.css", "page.js"):
        tally.write(name, box_file(name))
    tally.write("index.html", box_file("files.html"))
    return SiteIndexResult(pages=total, terms=terms, files=tally.files, bytes=tally.bytes)


def _write_pack(tally: _Tally, number: int, pack: list[Any]) -> None:
    tally.write(f"pages/{number >> _FOLDER_BITS}/{number}.bin", gzipped(msgspec.json.encode(pack)))


def _shown(page: SitePage, addresses: AddressMap) -> list[Any]:
    """Return what results show of a page."""
    shown = [addresses.apply(page.url), page.title, page.description[:300]]
    if not page.shows_text:
        return [*shown, ""]
    text = page.text[:LONGEST_TEXT]
    sections = [each for each in page.sections if each.start + each.length <= len(text)]
    return [*shown, text, [(_units(text, each.start), *msgspec.structs.astuple(each)[1:]) for each in sections]]


def _units(text: str, at: int) -> int:
    """Return a position in a text as scripts count it, in units of UTF-16."""
    return at if text.isascii() else len(text[:at].encode("utf-16-be")) // 2


def _terms(page: SitePage, average: float) -> tuple[dict[str, int], dict[str, str]]:
    """Return the levels of a page's stems, and the stems of its words."""
    weights: Counter[str] = Counter()
    stems_of: dict[str, str] = {}
    headings = "\n".join(page.text[each.start : each.start + each.length] for each in page.sections)
    texts = (page.title, *_TITLE), (headings, *_HEADINGS), (f"{page.description}\n{page.text}", _TEXT, average)
    for text, weight, usual in texts:
        found = WordCounts(text, page.lang)
        stems_of |= found.stems_of
        for stem, value in saturated(found.stems, found.length, usual):
            weights[stem] += weight * value * page.factor  # type: ignore[assignment]  # a Counter of floats
    return {stem: _level(weight) for stem, weight in weights.items()}, stems_of


def _level(weight: float) -> int:
    return max(0, min(LEVELS - 1, round(math.log(weight / _LEAST_LEVEL) / math.log(_LEVEL_STEP))))
