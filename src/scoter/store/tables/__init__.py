"""Versioned tables of Parquet files, and sets of parts. docs/tables.md describes the format.

- ``table``        reads a table
- ``new_version``  writes a version, from the lock to ``CURRENT``
- ``versions``     manifests, and which version is current, kept or removed
- ``replaced``     positions of rows that later parts replaced
- ``partset``      the finished parts of a segment
- ``parquet``      writes Parquet files; reads several as one dataset
- ``column_copy``  copies a Parquet file with other values of one column
- ``thrift``       reads and writes the structs of a Parquet footer
- ``schema``       Arrow types as text, and schema evolution
- ``storage``      the port for table storage and its lock
- ``local``        table storage in a local folder
- ``remote``       table storage in an object store
"""

from scoter.store.tables.new_version import NewVersion, break_lock, clean
from scoter.store.tables.parquet import OpenPart, PartLimits, PartWriter
from scoter.store.tables.partset import PartSet
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
