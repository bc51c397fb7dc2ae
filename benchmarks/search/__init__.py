"""Quality and speed of search.

- ``corpus``   pages in five languages, generated from a seed
- ``tables``   the tables of a crawl that has these pages
- ``queries``  queries of which the right page is known
- ``quality``  recall and rank of the right pages, next to SQLite FTS5
- ``speed``    the cost of processes and queries
- ``plain``    the peer: tantivy alone
- ``documentation/``  success on real documentation, next to three peers
"""
