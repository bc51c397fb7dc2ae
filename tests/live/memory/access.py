"""Domain rules and holds, and API keys, in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from scoter.http.api_keys import ApiKey, key_id_in, new_key, token_matches
from scoter.live.api.records import DomainRule


class MemoryKeys:
    """The API keys (``keys.ApiKeys``)."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._keys: dict[str, ApiKey] = {}
        self._uses: dict[str, datetime] = {}

    async def create(
        self, name: str, scopes: Sequence[str], rate: float | None = None, tenant: str = ""
    ) -> tuple[ApiKey, str]:
        key, token = new_key(name, scopes, rate, self._clock(), tenant)
        self._keys[key.id] = key
        return key, token

    def all(self) -> Sequence[ApiKey]:
        return list(self._keys.values())

    async def revoke(self, key: str) -> bool:
        return self._keys.pop(key, None) is not None

    def check(self, token: str) -> ApiKey | None:
        key = self._keys.get(key_id_in(token))
        if key is None or not token_matches(key, token):
            return None
        self._uses[key.id] = self._clock()
        return key

    def find(self, key: str) -> ApiKey | None:
        found = self._keys.get(key)
        if found is not None:
            self._uses[key] = self._clock()
        return found

    def take_uses(self) -> Mapping[str, datetime]:
        taken, self._uses = self._uses, {}
        return taken

    def add_uses(self, uses: Mapping[str, datetime]) -> None:
        for key, at in uses.items():
            self._uses[key] = max(at, self._uses.get(key, at))

    async def note_uses(self) -> None:
        for identity, moment in self.take_uses().items():
            if identity in self._keys:
                self._keys[identity] = replace(self._keys[identity], last_used=moment)


class MemoryRules:
    """The domain rules (``ports.DomainRuleStore``)."""

    def __init__(self) -> None:
        self._rules: dict[str, DomainRule] = {}

    def get(self, domain: str) -> DomainRule | None:
        return self._rules.get(domain)

    def all(self) -> Sequence[DomainRule]:
        return [self._rules[domain] for domain in sorted(self._rules)]

    async def put(self, rule: DomainRule) -> None:
        """Replace the rule of a domain; a rule without settings removes it."""
        if rule == DomainRule(domain=rule.domain):
            self._rules.pop(rule.domain, None)
        else:
            self._rules[rule.domain] = rule


class MemoryHolds:
    """The long holds of domains (``ports.DomainHoldStore``)."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._until: dict[str, datetime] = {}

    def all(self) -> Mapping[str, timedelta]:
        now = self._clock()
        return {domain: min(until - now, timedelta(days=1)) for domain, until in self._until.items() if until > now}

    async def put(self, domain: str, hold: timedelta) -> None:
        self._until[domain] = self._clock() + hold
