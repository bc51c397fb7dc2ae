"""Domain rules, changed while the service runs."""

from __future__ import annotations

import re

import msgspec

from scoter.core.domain import registered_domain
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.http.asgi import ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.records import Problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.live.api.records import DomainChange, DomainList, DomainRule, DomainsQuery
from scoter.live.api.services import Services

_DOMAIN_PATH = "/v1/domains/{domain}"
_ADDRESS = re.compile(r"^\[[0-9A-Fa-f:.]+\]$")
_LONGEST_NAME = 253  # RFC 1035 2.3.4, without the last dot
_FOREIGN = "/?#@\\:[]"
_NO_DOMAIN = problem(422, "invalid", "This is not a domain name.", where="/domain")


@route("GET", "/v1/domains", {200: ResponseSpec("The rules, by domain.", DomainList)}, query=DomainsQuery)
async def list_domains(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """List the domains that have a rule."""
    query: DomainsQuery = call.query
    later = sorted((rule for rule in services.rules.all() if rule.domain > query.after), key=lambda rule: rule.domain)
    page = later[: query.limit]
    found = DomainList(page, page[-1].domain if len(later) > query.limit else None)
    return ApiResponse(msgspec.json.encode(found))


@route("GET", _DOMAIN_PATH, {200: ResponseSpec("The rule; only the name if none is set.", DomainRule)})
async def show_domain(services: Services, call: ApiRequest[None]) -> HandlerResult:
    """Return the rule of a domain."""
    domain = registered_name(call.path["domain"])
    if isinstance(domain, Problem):
        return domain
    return ApiResponse(msgspec.json.encode(services.rules.get(domain) or DomainRule(domain=domain)))


@route("PUT", _DOMAIN_PATH, {200: ResponseSpec("The new rule.", DomainRule)}, scope="admin", body=DomainChange)
async def set_domain(services: Services, call: ApiRequest[DomainChange]) -> HandlerResult:
    """Set the rate limit of a domain, or block it."""
    domain = registered_name(call.path["domain"])
    if isinstance(domain, Problem):
        return domain
    change = call.body
    concurrency = None if change.concurrency is None else int(change.concurrency)
    rule = DomainRule(
        domain=domain, delay=change.delay, concurrency=concurrency, blocked=change.blocked, note=change.note
    )
    await services.rules.put(rule)
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
