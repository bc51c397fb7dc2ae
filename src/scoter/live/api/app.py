"""The whole API as one ASGI application, assembled from the services it is given."""

from __future__ import annotations

from typing import Final

from scoter.http.dispatcher import ApiDispatcher
from scoter.http.handlers import api_keys, sessions, status
from scoter.http.openapi import ApiInfo
from scoter.live.api.handlers import deliveries, domains, events, fetch, messages, preview, statistics, urls
from scoter.live.api.lookups import LookupResults
from scoter.live.api.records import SCHEMA_RULES, Missing
from scoter.live.api.services import Services

LIVE_API: Final = ApiInfo(
    "Scoter",
    "Submit links, and get the pages that they lead to.",
    rules=SCHEMA_RULES,
    mixed={LookupResults: ("results", Missing)},
)
ROUTES: Final = (
    messages.submit,
    preview.preview,
    urls.look_up,
    urls.look_up_many,
    fetch.fetch,
    events.listen,
    domains.list_domains,
    domains.show_domain,
    domains.set_domain,
    deliveries.list_deliveries,
    deliveries.resend_delivery,
    api_keys.list_keys,
    api_keys.make_key,
    api_keys.revoke_key,
    sessions.show_session,
    sessions.open_session,
    sessions.end_session,
    statistics.stats,
    statistics.history,
    statistics.activity,
    status.metrics,
    status.health,
    status.ready,
    status.openapi,
)
"""All routes, in the order of the OpenAPI document."""


class Api(ApiDispatcher):
    """The API of the live service."""

    def __init__(self, services: Services) -> None:
        super().__init__(services, ROUTES, LIVE_API)
