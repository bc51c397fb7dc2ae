"""What a crawl keeps on disk, behind small faces.

``warc/``   the archive: what was asked and what came back, as WARC 1.1 files with a CDXJ index each
``disk.py`` what a disk does wrong, told as an error a person can act on

Tables and key-value stores have their place here as well. Nothing here fetches or parses.
"""
