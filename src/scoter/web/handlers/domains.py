"""What holds for one domain beyond the configuration."""

from __future__ import annotations

import re

import msgspec

from scoter.api import DomainChange, DomainRule, Problem
from scoter.core.domain import registered_domain
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.live.ports import DomainRules
from scoter.web.asgi import Call, Reply
from scoter.web.keys import Scope
from scoter.web.problems import problem
from scoter.web.routes import Answer, Response, Route

_PATH = "/v1/domains/{domain}"
_ADDRESS = re.compile(r"^\[[0-9A-Fa-f:.]+\]$")
_LONGEST = 253  # RFC 1035 2.3.4, without the last dot
_FOREIGN = "/?#@\\:[]"
_NO_DOMAIN = problem(422, "invalid", "This is not a domain.", where="/domain")


class Domains:
    """Shows and sets rules of registered domains."""

    def __init__(self, rules: DomainRules) -> None:
        self._rules = rules

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=_PATH,
                run=self.show,
                told="Show what was set for a domain.",
                responses={200: Response("Its rule; only the name where nothing was set.", DomainRule)},
            ),
            Route(
                method="PUT",
                path=_PATH,
                run=self.set,
                told="Set a domain's rate, or block it.",
                scope=Scope.ADMIN,
                body=DomainChange,
                responses={200: Response("The rule that holds now.", DomainRule)},
            ),
        ]

    async def show(self, call: Call[None]) -> Answer:
        domain = named(call.path["domain"])
        if isinstance(domain, Problem):
            return domain
        return Reply(msgspec.json.encode(self._rules.get(domain) or DomainRule(domain=domain)))

    async def set(self, call: Call[DomainChange]) -> Answer:
        domain = named(call.path["domain"])
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
        return Reply(msgspec.json.encode(rule))


def named(text: str) -> str | Problem:
    """Return a registered domain in canonical form, or what is wrong with it."""
    # The URL parser forgives much (a port of the scheme's own, blanks, line breaks): a name has none of it.
    if (
        len(text) > _LONGEST
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
        detail = f"Rules hold for registered domains: {url.host} is of {domain}."
        return problem(422, "not-registered", "This is not a registered domain.", detail, where="/domain")
    return domain
