"""What a crawl keeps on disk, behind small faces.

``warc/``    the archive: what was asked and what came back, as WARC 1.1 files with a CDXJ index each
``tables/``  versioned Parquet tables: atomic versions, one writer, evolving columns
``robots_cache.py``  what crawlers that work together learnt of robots.txt files
``disk.py``  what a disk does wrong, told as an error a person can act on

Nothing here fetches or parses.
"""
