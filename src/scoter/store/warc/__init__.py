"""The archive: WARC files with requests and responses, one gzip member per record.

``capture.py``  descriptions of an archive and of its captures
``record.py``   HTTP heads and the bytes of each type of record
``cdxj.py``     the index of each file
``part.py``     one file, from its opening to its final name
``writer.py``   a sequence of files, by size and age
``reader.py``   reads a record at an offset, or all of them
``recovery.py`` recovers what a killed writer left

docs/archive.md describes the records.
"""

from scoter.store.warc.capture import ArchiveInfo, EarlierCapture, Facts, Location
from scoter.store.warc.part import WarcPart
from scoter.store.warc.reader import ArchivedResponse, WarcReader
from scoter.store.warc.record import timing_facts
from scoter.store.warc.recovery import Recovered, recover, unfinished
from scoter.store.warc.writer import WarcWriter

__all__ = [
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
