"""The files of a crawl: archive, tables and caches.

- ``warc/``         the archive: requests and responses as WARC 1.1 files, each with a CDXJ index
- ``tables/``       versioned Parquet tables: atomic versions, one writer, schema evolution
- ``objects/``      crawl directories in object stores: conditional writes, and leases as locks
- ``robots_cache``  robots.txt rules shared by several processes, in a SQLite file
- ``host_holds``    until when hosts must be left alone, in a SQLite file
- ``sqlite_file``   how such files are opened
- ``formats``       whether this version can read a stored format
- ``disk``          disk errors, durable renames, file locks and temporary folders
- ``arrow``         settings that keep Arrow small

Nothing here fetches or parses.
"""
