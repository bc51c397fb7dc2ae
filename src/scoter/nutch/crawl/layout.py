"""Where the files of a Nutch crawl are.

crawldb/current/part-r-00000/data    a MapFile: a SequenceFile and its index, which the import does not need
linkdb/current/part-r-00000/data
hostdb/current/part-r-00000          a SequenceFile or a MapFile
segments/20261115033000/
  crawl_generate/part-r-00000        SequenceFiles
  crawl_fetch/part-r-00000/data      MapFiles
  content/  parse_data/  parse_text/
  crawl_parse/part-r-00000
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scoter.errors import UsageError
from scoter.store.disk import disk_errors

GENERATE, FETCH, CONTENT = "crawl_generate", "crawl_fetch", "content"
PARSE, PARSE_DATA, PARSE_TEXT = "crawl_parse", "parse_data", "parse_text"
_OF_SEGMENTS: Final = (GENERATE, FETCH, CONTENT, PARSE, PARSE_DATA, PARSE_TEXT)
_TABLES: Final = ("crawldb", "linkdb", "hostdb")


class NutchSegment:
    """A segment of a Nutch crawl."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    def __repr__(self) -> str:
        return f"NutchSegment({self.name!r})"

    def files(self, part: str) -> list[Path]:
        """Return the files of one part, such as ``crawl_fetch``."""
        return _files(self.path / part)


class NutchCrawl:
    """A directory with a crawldb, a linkdb, a hostdb and segments, of which each may be missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with disk_errors("read the Nutch crawl", path):
            if not path.is_dir():
                raise UsageError("no such directory", where=str(path))
            self.segments = [NutchSegment(each) for each in _folders(path / "segments") if _is_segment(each)]
        if not self.segments and not any(self.files(name) for name in _TABLES):
            raise UsageError(
                "not a Nutch crawl: it has no crawldb, linkdb, hostdb or segments",
                where=str(path),
                hint="Pass the directory that holds crawldb/ and segments/, copied from HDFS if it is there.",
            )

    def __repr__(self) -> str:
        return f"NutchCrawl({str(self.path)!r})"

    def files(self, table: str) -> list[Path]:
        """Return the files of a table, such as ``crawldb``."""
        folder = self.path / table
        return _files(folder / "current") or _files(folder)


def _files(folder: Path) -> list[Path]:
    with disk_errors("read the Nutch crawl", folder):
        found = sorted(each for each in folder.iterdir() if each.name.startswith("part-")) if folder.is_dir() else []
        files = [each / "data" if each.is_dir() else each for each in found]
        return [each for each in files if each.is_file()]


def _folders(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []


def _is_segment(folder: Path) -> bool:
    return not folder.name.startswith(".") and any((folder / part).is_dir() for part in _OF_SEGMENTS)
