"""Success of search on documentation, next to pagefind, SQLite FTS5 and tantivy alone.

- ``queries.txt``  what people type, and the pages that answer it
- ``sets``         the documentation, from Debian packages, and the queries
- ``engines``      the peers, each over the same pages
- ``pagefind.mjs`` asks pagefind, which runs in JavaScript
"""
