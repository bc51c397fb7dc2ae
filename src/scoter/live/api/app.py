"""The whole API as one ASGI application, assembled from the services it is given."""

from __future__ import annotations

from typing import Final

from scoter.http.dispatcher import ApiDispatcher
from scoter.http.handlers import sessions
from scoter.http.openapi import LIVE_API
from scoter.live.api.handlers import admin, deliveries, events, fetch, messages, preview, status, urls
from scoter.live.api.services import Services

ROUTES: Final = (
    messages.submit,
    preview.preview,
    urls.look_up,
    urls.look_up_many,
    fetch.fetch,
    events.listen,
    admin.list_domains,
    admin.show_domain,
    admin.set_domain,
    deliveries.list_deliveries,
    deliveries.resend_delivery,
    admin.list_keys,
    admin.make_key,
    admin.revoke_key,
    sessions.show_session,
    sessions.open_session,
    sessions.end_session,
    status.stats,
    status.history,
    status.activity,
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
