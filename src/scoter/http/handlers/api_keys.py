"""API keys, changed while a server runs.

Managing keys always requires a key with the scope admin. A token is shown once: no cache may keep it.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import msgspec

from scoter.http.api_keys import MOST_KEYS, ApiKey, ApiKeys, is_tenant_name
from scoter.http.asgi import NO_STORE, ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.records import KeyInfo, KeyList, KeyOrder, NewKey
from scoter.http.routes import HandlerResult, ResponseSpec, route

_KEYS_PATH: Final = "/v1/keys"


class KeyServices(Protocol):
    """What the handlers of keys need."""

    @property
    def keys(self) -> ApiKeys: ...


@route(
    "GET", _KEYS_PATH, {200: ResponseSpec("All keys, without their tokens.", KeyList)}, scope="admin", needs_key=True
)
async def list_keys(services: KeyServices, call: ApiRequest[None]) -> HandlerResult:
    """List the API keys."""
    await services.keys.note_uses()
    return ApiResponse(msgspec.json.encode(KeyList([KeyInfo(**_facts(key)) for key in services.keys.all()])))


@route(
    "POST",
    _KEYS_PATH,
    {201: ResponseSpec("The key with its token.", NewKey)},
    scope="admin",
    needs_key=True,
    body=KeyOrder,
    problems=(409,),
)
async def make_key(services: KeyServices, call: ApiRequest[KeyOrder]) -> HandlerResult:
    """Create an API key; its token is shown only once."""
    order = call.body
    if len(services.keys.all()) >= MOST_KEYS:
        return problem(409, "too-many-keys", f"There are already {MOST_KEYS:,} keys.", "Revoke some of them.")
    if order.tenant and not is_tenant_name(order.tenant):
        return problem(422, "invalid", "This name of a tenant is reserved.", where="/tenant")
    scopes = tuple(dict.fromkeys(order.scopes))
    key, token = await services.keys.create(order.name, scopes, order.rate, order.tenant)
    return ApiResponse(msgspec.json.encode(NewKey(**_facts(key), token=token)), 201, headers=NO_STORE)


@route("DELETE", _KEYS_PATH + "/{id}", {200: ResponseSpec("The revoked key.", KeyInfo)}, scope="admin", needs_key=True)
async def revoke_key(services: KeyServices, call: ApiRequest[None]) -> HandlerResult:
    """Revoke an API key at once."""
    identity = call.path["id"]
    found = next((key for key in services.keys.all() if key.id == identity), None)
    if found is None or not await services.keys.revoke(identity):
        return problem(404, "no-such-key", "There is no such key.")
    return ApiResponse(msgspec.json.encode(KeyInfo(**_facts(found))))


def _facts(key: ApiKey) -> dict[str, Any]:
    names = ("id", "name", "scopes", "rate", "created", "last_used", "tenant")
    return {name: getattr(key, name) for name in names}
