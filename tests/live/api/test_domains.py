"""Domain rules over HTTP."""

from __future__ import annotations

import pytest
from tests.live.api.fakes import Bench

from scoter.live.api.records import DomainRule


async def test_domain_rule_can_be_set_and_shown() -> None:
    bench = Bench()

    put = await bench.client.put("/v1/domains/example.org", {"delay": 2.5, "concurrency": 2, "note": "asked us to"})
    got = await bench.client.get("/v1/domains/EXAMPLE.org")

    assert put.status == 200
    assert got.json == {"domain": "example.org", "delay": 2.5, "concurrency": 2, "note": "asked us to"}
    assert bench.stores.rules.get("example.org") == DomainRule(
        domain="example.org", delay=2.5, concurrency=2, note="asked us to"
    )


async def test_domain_rule_replaces_the_previous_one() -> None:
    bench = Bench()
    await bench.client.put("/v1/domains/example.org", {"blocked": True})

    got = await bench.client.put("/v1/domains/example.org", {"delay": 1})

    assert got.json == {"domain": "example.org", "delay": 1.0}


async def test_urls_of_a_blocked_domain_are_refused() -> None:
    bench = Bench()
    await bench.client.put("/v1/domains/example.org", {"blocked": True})

    got = await bench.client.post("/v1/messages", {"urls": ["http://www.example.org/"]})

    assert got.json["messages"][0]["unusable"] == [{"url": "http://www.example.org/", "why": "example.org is blocked"}]


@pytest.mark.parametrize(
    "name",
    [
        "www.example.org",
        "m%C3%BCller.www.example.org",
        "10.0.0.1:80",
        "a%2Fb",
        "%20",
        "a%40b.org",
        "a%00b",
        "%ff",
        "[::1",
    ],
)
async def test_rule_requires_a_registered_domain(name: str) -> None:
    bench = Bench()

    assert (await bench.client.get(f"/v1/domains/{name}")).status == 422
    assert (await bench.client.put(f"/v1/domains/{name}", {})).status == 422


async def test_international_domain_equals_its_ascii_form() -> None:
    bench = Bench()
    await bench.client.put("/v1/domains/m%C3%BCller.de", {"delay": 3})

    got = await bench.client.get("/v1/domains/xn--mller-kva.de")

    assert got.json["delay"] == 3


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"delay": -1}, "/delay"),
        ({"delay": 1e300}, "/delay"),
        ({"concurrency": 0}, "/concurrency"),
        ({"note": "x" * 501}, "/note"),
        ({"blocked": "yes"}, "/blocked"),
        ({"domain": "other.org"}, ""),
    ],
)
async def test_invalid_rule_names_the_field(body: object, where: str) -> None:
    got = await Bench().client.put("/v1/domains/example.org", body)

    assert (got.status, got.json.get("where", "")) == (422, where)
