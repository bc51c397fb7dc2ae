"""Batch crawls. Every module here is one job, named like its command; the packages are what the jobs share.

Start at ``crawl.py``, which calls the other jobs in turn.

``crawldir/``    the crawl directory: segments, tables and their columns, looking up, exporting and copying data
``urls/``        URLs on their way into a crawl: seed lists, sitemaps, scope, normalisers and filters
``fetchlists/``  from the crawldb to fetch lists: selecting, picking, writing, reading (``generate``, ``freegen``)
``worker/``      what a fetching process does, and the pool of these processes (``fetch``, ``parse``)
``update/``      the update rule as column expressions (``updatedb``)
"""
