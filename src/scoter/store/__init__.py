"""What a crawl keeps on disk.

``warc/``    the archive: requests and responses as WARC 1.1 files, each with a CDXJ index
``tables/``  versioned Parquet tables: atomic versions, one writer, schema evolution
``robots_cache.py``  robots.txt rules shared by crawlers that work together
``disk.py``  disk errors, durable renames, file locks and temporary folders
``arrow.py`` the memory of Arrow

Nothing here fetches or parses.
"""
