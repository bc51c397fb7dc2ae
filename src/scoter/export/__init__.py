"""Exports of a crawl: pages selected, sorted, and written to files in shards.

- ``job``         one export, from its options to its manifest
- ``fields``      the fields of a page
- ``selection``   which pages: the newest version of each, by expression or SQL
- ``page_rows``   their rows, sorted and saved before the first shard is written
- ``folder``      the folder of an export: plan, finished shards, manifest
- ``registry``    the formats by name
- ``formats``     JSON lines, CSV and Parquet
- ``page_files``  formats with a file per page; Markdown
- ``sqlite``      a SQLite database
- ``captures``    WARC files and WACZ packages of archived records
- ``wacz``        the parts of a WACZ package
- ``dumps``       the formats of Nutch: raw files, and records of requests and responses
- ``corpus/``     texts for language models, without poor and repeated ones
"""
