"""Versioned tables of Parquet files, and sets of parts.

``table.py``     a table as a reader has it
``writing.py``   a version in the making, from the lock to ``CURRENT``
``partset.py``   the finished parts of a segment
``versions.py``  which version is current, which are kept, which may go
``manifest.py``  what a version says of itself
``evolution.py`` columns that come and go
``types.py``     Arrow types as text
``parquet.py``   one Parquet file, from its opening to its seal
``reading.py``   files as one Arrow dataset
``place.py``     where tables lie: ``local.py`` a folder here, ``remote.py`` an object store
``holder.py``    who holds a lock

docs/tables.md tells the format.
"""

from scoter.store.tables.new_version import NewVersion, break_lock, clean
from scoter.store.tables.parquet import PartLimits, PartWriter
from scoter.store.tables.partset import OpenPart, PartSet
from scoter.store.tables.schema import Defaults, arrow_type
from scoter.store.tables.storage import Holder
from scoter.store.tables.table import Table
from scoter.store.tables.versions import FORMAT, Manifest, StoredColumn, StoredPart

__all__ = [
    "FORMAT",
    "Defaults",
    "Holder",
    "Manifest",
    "NewVersion",
    "OpenPart",
    "PartLimits",
    "PartSet",
    "PartWriter",
    "StoredColumn",
    "StoredPart",
    "Table",
    "arrow_type",
    "break_lock",
    "clean",
]
