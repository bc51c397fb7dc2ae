"""From the crawldb to fetch lists.

``candidates.py``  which URLs may be fetched next, and in which order
``picker.py``      URL filters and limits; which segment and list a URL goes to
``writer.py``      writing segments
``lists.py``       which list a URL belongs to; reading a list as requests

``lists.py`` runs in workers and must not import Ibis or DuckDB.
"""
