"""The contract of stores of domain rules and API keys. Subclasses provide a fixture ``make``."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.live.stores.fakes import START, Stores, Time

from scoter.live.api.records import DomainRule


class RulesContract:
    async def test_rule_applies_to_its_domain_until_replaced(self, stores: Stores) -> None:
        slow = DomainRule(domain="b.example", delay=2.5, concurrency=1, note="asked us to")
        await stores.rules.put(slow)
        await stores.rules.put(DomainRule(domain="a.example", blocked=True))

        assert stores.rules.get("b.example") == slow
        assert stores.rules.get("c.example") is None
        assert [rule.domain for rule in stores.rules.all()] == ["a.example", "b.example"]

        await stores.rules.put(DomainRule(domain="b.example", blocked=True))
        assert stores.rules.get("b.example") == DomainRule(domain="b.example", blocked=True)

    async def test_rule_without_settings_removes_the_rule(self, stores: Stores) -> None:
        await stores.rules.put(DomainRule(domain="a.example", blocked=True))

        await stores.rules.put(DomainRule(domain="a.example"))

        assert stores.rules.get("a.example") is None
        assert list(stores.rules.all()) == []


class HoldsContract:
    async def test_hold_of_a_domain_ends(self, stores: Stores, time: Time) -> None:
        await stores.holds.put("a.example", timedelta(seconds=100))
        await stores.holds.put("b.example", timedelta(seconds=300))
        time.passes(100)
        assert stores.holds.all() == {"b.example": timedelta(seconds=200)}

        await stores.holds.put("b.example", timedelta(seconds=50))
        assert stores.holds.all() == {"b.example": timedelta(seconds=50)}

    async def test_hold_never_exceeds_a_day(self, stores: Stores, time: Time) -> None:
        await stores.holds.put("a.example", timedelta(hours=2))
        time.now -= timedelta(days=3)  # set back

        assert stores.holds.all() == {"a.example": timedelta(days=1)}


class KeysContract:
    async def test_token_identifies_its_key(self, stores: Stores) -> None:
        key, token = await stores.keys.create("bot", ["read", "submit"], rate=5.0)
        other, other_token = await stores.keys.create("bot", ["admin"])

        found = stores.keys.check(token)

        assert found == key
        assert (key.name, key.scopes, key.rate, key.created) == ("bot", ("read", "submit"), 5.0, START)
        assert stores.keys.check(other_token) == other
        assert list(stores.keys.all()) == [key, other]

    async def test_key_of_a_tenant_is_found_by_its_id_until_it_is_revoked(self, stores: Stores) -> None:
        key, token = await stores.keys.create("bot", ["read"], tenant="acme")

        assert stores.keys.check(token) == stores.keys.find(key.id) == key
        assert key.tenant == "acme"
        assert stores.keys.find("") is stores.keys.find("0" * 12) is None

        await stores.keys.revoke(key.id)
        assert stores.keys.find(key.id) is None

    @pytest.mark.parametrize(
        "wrong", ["", "scoter", "scoter__", "scoter_a_b", "\udc80", "x" * 10_000, "scoter_\0_é", "scoter_\ud800_"]
    )
    async def test_malformed_token_is_refused(self, stores: Stores, wrong: str) -> None:
        await stores.keys.create("bot", ["read"])

        assert stores.keys.check(wrong) is None

    async def test_token_with_one_changed_character_is_refused(self, stores: Stores) -> None:
        key, token = await stores.keys.create("bot", ["read"])
        last = "A" if token[-1] != "A" else "B"

        assert stores.keys.check(token[:-1] + last) is None
        assert stores.keys.check(token + "=") is None
        assert stores.keys.check(token.replace(key.id, "0" * len(key.id))) is None

    async def test_revoked_key_is_refused_at_once(self, stores: Stores) -> None:
        key, token = await stores.keys.create("bot", ["read"])

        assert await stores.keys.revoke(key.id)

        assert stores.keys.check(token) is None
        assert list(stores.keys.all()) == []
        assert not await stores.keys.revoke(key.id)

    async def test_last_use_is_stored_by_note_uses(self, stores: Stores, time: Time) -> None:
        key, token = await stores.keys.create("bot", ["read"])
        revoked, revoked_token = await stores.keys.create("old", ["read"])
        time.passes(60)
        stores.keys.check(token)
        stores.keys.check(revoked_token)
        await stores.keys.revoke(revoked.id)
        assert [each.last_used for each in stores.keys.all()] == [None]

        await stores.keys.note_uses()

        assert [each.last_used for each in stores.keys.all()] == [START + timedelta(seconds=60)]
        found = stores.keys.check(token)
        assert found is not None
        assert (found.id, found.last_used) == (key.id, START + timedelta(seconds=60))
