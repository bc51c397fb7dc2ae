"""From sites and sitemaps to rows for the crawldb.

``starts`` tells what is to be looked at, ``gathering`` fetches it politely and follows what it finds, ``sowing`` makes
records of the entries.
"""
