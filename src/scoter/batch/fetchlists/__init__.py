"""From the crawldb to fetch lists.

- ``candidates``  selects and orders the URLs that are due
- ``picker``      applies URL filters and limits; assigns each URL to a segment and a list
- ``traps``       holds back URLs of possible crawler traps
- ``writer``      writes segments
- ``estimates``   how long a crawl takes, as far as its delays tell
- ``slow_hosts``  when a round ends without its slowest hosts
- ``lists``       which list a URL belongs to; reads a list as requests

``lists`` runs in workers and must not import Ibis or DuckDB.
"""
