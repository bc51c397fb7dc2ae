"""The crawl directory.

``directory.py``  the directory itself, its lock, and how a running job is asked to stop
``segment.py``    one segment, its state and its tables
``schemas.py``    the columns of every table; converting between records and rows
``crawldb.py``    opening the crawldb and the linkdb
``linkdb.py``     operations on links
``lookup.py``     finding the rows of one URL without an engine
``export.py``     rows as CSV, JSON lines, Parquet or text
``archives.py``   copying captures from one WARC file to another
"""
