"""The archive: WARC files with requests and responses, one gzip member per record. See docs/archive.md.

- ``capture``   descriptions of an archive and of its captures
- ``record``    HTTP heads and the bytes of each type of record
- ``cdxj``      the index of each file
- ``part``      one file, from its opening to its final name
- ``writer``    writes a sequence of files, by size and age
- ``reader``    reads the record at an offset, or all records
- ``recovery``  recovers the file of a killed writer
"""

from scoter.store.warc.capture import ArchiveInfo, EarlierCapture, Facts, Location
from scoter.store.warc.part import WarcPart
from scoter.store.warc.reader import ArchivedResponse, ArchiveFolder, WarcReader
from scoter.store.warc.record import timing_facts
from scoter.store.warc.recovery import Recovered, recover, unfinished
from scoter.store.warc.writer import WarcWriter

__all__ = [
    "ArchiveFolder",
    "ArchiveInfo",
    "ArchivedResponse",
    "EarlierCapture",
    "Facts",
    "Location",
    "Recovered",
    "WarcPart",
    "WarcReader",
    "WarcWriter",
    "recover",
    "timing_facts",
    "unfinished",
]
