"""The archive: one file holds what was asked and what came back, record by record.

``heads.py``    HTTP heads: how they are archived, and how they are read back
``told.py``     what is told of a file and of its captures
``record.py``   the bytes of each kind of record
``cdxj.py``     the index that lies beside each file
``members.py``  where records begin and end, and whether they are whole
``part.py``     one file, from its opening to its final name
``writer.py``   one file after another, by size and age
``reader.py``   a record by its place, or all of them
``recovery.py`` what a killed writer left behind

docs/archive.md tells what each record carries.
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
