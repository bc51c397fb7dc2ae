"""Batch crawls.

- ``jobs/``        one module per command: start at ``crawl``, which calls the others in turn
- ``crawldir/``    the crawl directory: segments, tables and their columns, lookups, exports
- ``urls/``        seed lists, sitemaps, and the URL rules for what enters the crawldb
- ``fetchlists/``  selecting, writing and reading fetch lists
- ``worker/``      the worker processes of ``fetch``; ``parse`` shares some of their modules
- ``spark/``       the same on the executors of a Spark cluster
- ``hosts/``       the hostdb: where each fact comes from, and their join
- ``graph/``       the link graph: its tables, links as arrays, ranks
- ``update/``      the update rule as column expressions
- ``main_text/``   the main text of archived pages, made when something needs it
- ``site/``        the report on a site's health: links, redirects, titles, canonical addresses
- ``reports/``     named reports about a crawl, and a page of them
- ``api/``         the REST API for batch crawls, served by ``scoter ui``
"""
