"""Domain rules and API keys, changed while the service runs."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from scoter.api import DomainChange, DomainRule, KeyInfo, KeyList, KeyOrder, NewKey, Problem
from scoter.core.domain import registered_domain
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.live.keys import MOST_KEYS, ApiKey, ApiKeys
from scoter.live.ports import DomainRuleStore
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, Route

_DOMAIN_PATH = "/v1/domains/{domain}"
_ADDRESS = re.compile(r"^\[[0-9A-Fa-f:.]+\]$")
_LONGEST_NAME = 253  # RFC 1035 2.3.4, without the last dot
_FOREIGN = "/?#@\\:[]"
_NO_DOMAIN = problem(422, "invalid", "This is not a domain name.", where="/domain")


class DomainRoutes:
    """Returns and sets the rules of registered domains."""

    def __init__(self, rules: DomainRuleStore) -> None:
        self._rules = rules

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=_DOMAIN_PATH,
                run=self.show,
                summary="Return the rule of a domain.",
                responses={200: ResponseSpec("The rule; only the name if none is set.", DomainRule)},
            ),
            Route(
                method="PUT",
                path=_DOMAIN_PATH,
                run=self.set,
                summary="Set the rate limit of a domain, or block it.",
                scope="admin",
                body=DomainChange,
                responses={200: ResponseSpec("The new rule.", DomainRule)},
            ),
        ]

    async def show(self, call: ApiRequest[None]) -> HandlerResult:
        domain = registered_name(call.path["domain"])
        if isinstance(domain, Problem):
            return domain
        return ApiResponse(msgspec.json.encode(self._rules.get(domain) or DomainRule(domain=domain)))

    async def set(self, call: ApiRequest[DomainChange]) -> HandlerResult:
        domain = registered_name(call.path["domain"])
        if isinstance(domain, Problem):
            return domain
        change = call.body
        rule = DomainRule(
            domain=domain,
            delay=change.delay,
            concurrency=None if change.concurrency is None else int(change.concurrency),
            blocked=change.blocked,
            note=change.note,
        )
        await self._rules.put(rule)
        return ApiResponse(msgspec.json.encode(rule))


def registered_name(text: str) -> str | Problem:
    """Return a registered domain in canonical form, or a problem."""
    # The URL parser tolerates default ports, spaces and line breaks; a name has none of them.
    if (
        len(text) > _LONGEST_NAME
        or not text.isprintable()
        or any(sign in _FOREIGN or sign.isspace() for sign in _ADDRESS.sub("", text))
    ):
        return _NO_DOMAIN
    try:
        url = canonical(f"http://{text}/")
    except UrlError:
        return _NO_DOMAIN
    domain = registered_domain(url.host)
    if domain != url.host:
        detail = f"Rules apply to registered domains: {url.host} belongs to {domain}."
        return problem(422, "not-registered", "This is not a registered domain.", detail, where="/domain")
    return domain


_KEYS_PATH: Final = "/v1/keys"
# A token is shown once: no proxy may cache it.
_NO_STORE: Final = ((b"cache-control", b"no-store"),)


class KeyRoutes:
    """Lists, creates and revokes API keys; always requires a key with the scope ``admin``."""

    def __init__(self, keys: ApiKeys) -> None:
        self._keys = keys

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=_KEYS_PATH,
                run=self.show,
                summary="List the API keys.",
                scope="admin",
                needs_key=True,
                responses={200: ResponseSpec("All keys, without their tokens.", KeyList)},
            ),
            Route(
                method="POST",
                path=_KEYS_PATH,
                run=self.make,
                summary="Create an API key; its token is shown only once.",
                scope="admin",
                needs_key=True,
                body=KeyOrder,
                responses={201: ResponseSpec("The key with its token.", NewKey)},
                problems=(409,),
            ),
            Route(
                method="DELETE",
                path=_KEYS_PATH + "/{id}",
                run=self.revoke,
                summary="Revoke an API key at once.",
                scope="admin",
                needs_key=True,
                responses={200: ResponseSpec("The revoked key.", KeyInfo)},
            ),
        ]

    async def show(self, call: ApiRequest[None]) -> HandlerResult:
        await self._keys.note_uses()
        return ApiResponse(msgspec.json.encode(KeyList([KeyInfo(**_facts(key)) for key in self._keys.all()])))

    async def make(self, call: ApiRequest[KeyOrder]) -> HandlerResult:
        order = call.body
        if len(self._keys.all()) >= MOST_KEYS:
            return problem(409, "too-many-keys", f"There are already {MOST_KEYS:,} keys.", "Revoke some of them.")
        key, token = await self._keys.create(order.name, tuple(dict.fromkeys(order.scopes)), order.rate)
        return ApiResponse(msgspec.json.encode(NewKey(**_facts(key), token=token)), 201, headers=_NO_STORE)

    async def revoke(self, call: ApiRequest[None]) -> HandlerResult:
        identity = call.path["id"]
        found = next((key for key in self._keys.all() if key.id == identity), None)
        if found is None or not await self._keys.revoke(identity):
            return problem(404, "no-such-key", "There is no such key.")
        return ApiResponse(msgspec.json.encode(KeyInfo(**_facts(found))))


def _facts(key: ApiKey) -> dict[str, Any]:
    names = ("id", "name", "scopes", "rate", "created", "last_used")
    return {name: getattr(key, name) for name in names}
