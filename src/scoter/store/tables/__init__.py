"""Versioned tables of Parquet files, and sets of parts.

``table.py``        reading a table
``new_version.py``  writing a version, from the lock to ``CURRENT``
``versions.py``     manifests, and which version is current, kept or removed
``partset.py``      the finished parts of a segment
``parquet.py``      writing a Parquet file; reading several as one dataset
``schema.py``       Arrow types as text, and schema evolution
``storage.py``      the port for table storage and its lock; ``local.py`` a local folder, ``remote.py`` an object store

docs/tables.md describes the format.
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
