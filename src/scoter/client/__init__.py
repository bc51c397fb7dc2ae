"""The Python client of the live service: ``Client`` blocks, ``AsyncClient`` has the same methods as coroutines.

    with Client() as client:
        receipt = client.submit("look at https://example.org/")
        found = client.lookup("https://example.org/", wait=5)

- ``calls``        the calls of the API and how their answers are read, without a socket: the methods of both clients
- ``sync``         how the blocking clients make calls, and ``Client``
- ``aio``          how the async clients make calls, and ``AsyncClient``
- ``submissions``  submits many messages, in batches, as fast as the service accepts them
- ``events``       event streams that resume after a lost connection
- ``crawls``       the clients of the REST API for batch crawls, ``CrawlClient`` and ``AsyncCrawlClient``
- ``crawl_calls``  the calls of that API
- ``webhooks``     verifies that a callback comes from the service
- ``connection``   a small HTTP/1.1 client on asyncio
- ``address``      the address of a service, and the headers of every request
- ``errors``       ``ClientError`` and ``Unreachable``

``scoter.live.api.records`` has the records of the API; ``UrlRecord``, ``Preview`` and ``Event`` are in
``scoter.live.records``.
"""

from scoter.client.aio import AsyncClient
from scoter.client.crawls import AsyncCrawlClient, CrawlClient
from scoter.client.errors import ClientError, Unreachable
from scoter.client.sync import Client
from scoter.client.webhooks import verify
from scoter.http.records import Gap, KeyInfo, NewKey, Problem
from scoter.live.api.records import Absence, DomainRule, FetchAnswer, Missing, Outcome, Receipt, Statistics, Submission
from scoter.live.records import Event, Preview, State, UrlRecord

__all__ = [
    "Absence",
    "AsyncClient",
    "AsyncCrawlClient",
    "Client",
    "ClientError",
    "CrawlClient",
    "DomainRule",
    "Event",
    "FetchAnswer",
    "Gap",
    "KeyInfo",
    "Missing",
    "NewKey",
    "Outcome",
    "Preview",
    "Problem",
    "Receipt",
    "State",
    "Statistics",
    "Submission",
    "Unreachable",
    "UrlRecord",
    "verify",
]
