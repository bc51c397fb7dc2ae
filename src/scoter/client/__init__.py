"""The live service's Python client, in two kinds with the same methods: ``Client`` blocks, ``AsyncClient`` awaits.

    with Client() as client:
        receipt = client.submit("look at https://example.org/")
        found = client.lookup("https://example.org/", wait=5)

- ``records``    what the API takes and gives; ``UrlRecord`` and ``Event`` are the service's own
- ``errors``     how a refusal is told
- ``calls``      what is asked and how answers are read, without a socket: both kinds run the same steps
- ``loading``    many messages, in batches, at the pace that the service allows
- ``sse``, ``listening``   events, and how a stream of them goes on after it broke
- ``webhooks``   is this callback from the service?
"""

from scoter.client.aio import AsyncClient
from scoter.client.errors import ClientError, Unreachable
from scoter.client.records import (
    Absence,
    ApiKey,
    DomainRule,
    FetchAnswer,
    Gap,
    Missing,
    NewKey,
    Outcome,
    Problem,
    Receipt,
    Statistics,
    Submission,
)
from scoter.client.sync import Client
from scoter.client.webhooks import verify
from scoter.live.records import Event, State, UrlRecord

__all__ = [
    "Absence",
    "ApiKey",
    "AsyncClient",
    "Client",
    "ClientError",
    "DomainRule",
    "Event",
    "FetchAnswer",
    "Gap",
    "Missing",
    "NewKey",
    "Outcome",
    "Problem",
    "Receipt",
    "State",
    "Statistics",
    "Submission",
    "Unreachable",
    "UrlRecord",
    "verify",
]
