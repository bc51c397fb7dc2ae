"""Tenants: keys of different tenants do not see each other's messages, events, deliveries and statistics."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from tests.live.api.client import Got
from tests.live.api.fakes import Bench
from tests.live.api.test_events import listening, numbers
from tests.live.api.test_messages import small

from scoter.http.streams import StreamTimings

HOOK = "https://hooks.example/t/0a1b?key=2c3d"


async def key(bench: Bench, tenant: str, *scopes: str) -> tuple[str, str]:
    """Create a key of a tenant; return the header that presents it."""
    _, token = await bench.stores.keys.create("test", scopes or ("read", "submit"), tenant=tenant)
    return "Authorization", f"Bearer {token}"


async def submit(bench: Bench, header: tuple[str, str], name: str, *urls: str, **more: Any) -> Got:
    return await bench.client.post("/v1/messages", {"id": name, "urls": list(urls), **more}, header)


async def test_reused_id_with_other_content_is_a_conflict() -> None:
    bench = Bench()
    message = {"id": "m1", "urls": ["http://a.example/"]}
    await bench.client.post("/v1/messages", message)

    for change in ({"urls": ["http://b.example/"]}, {"text": "more"}, {"priority": "bulk"}, {"force": True}):
        got = await bench.client.post("/v1/messages", {**message, **change})
        assert (got.status, got.json["type"]) == (409, "urn:scoter:problem:id-conflict")
        assert "a.example" not in got.body.decode()
    assert (await bench.client.post("/v1/messages", message)).json["messages"][0]["status"] == "known"
    assert bench.stores.journal.waiting() == 1


async def test_conflict_among_several_messages_does_not_block_the_others() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"id": "m1", "urls": ["http://a.example/"]})

    got = await bench.client.post(
        "/v1/messages",
        [{"id": "m1", "urls": ["http://b.example/"]}, {"id": "m2", "urls": ["http://c.example/"]}],
    )

    assert got.status == 202
    assert [(each["id"], each["status"]) for each in got.json["messages"]] == [("m1", "conflict"), ("m2", "accepted")]
    assert got.json["messages"][0]["entries"] == {}


async def test_same_id_of_two_tenants_means_two_messages() -> None:
    bench = Bench(required=True)
    headers = {tenant: await key(bench, tenant) for tenant in ("", "acme", "zeta")}

    for tenant, header in headers.items():
        got = await submit(bench, header, "m1", f"http://{tenant or 'none'}.example/")
        (receipt,) = got.json["messages"]
        assert (receipt["id"], receipt["status"]) == ("m1", "accepted")
        assert list(receipt["entries"]) == [f"http://{tenant or 'none'}.example/"]


async def test_message_id_cannot_name_another_tenant() -> None:
    bench = Bench(required=True)

    got = await submit(bench, await key(bench, ""), "acme\x1fm1", "http://a.example/")

    assert (got.status, got.json["where"]) == (422, "/id")


async def test_stream_has_only_the_events_of_the_keys_tenant() -> None:
    bench = Bench(required=True, pace=StreamTimings(heartbeat=0.05, slow=1.0, look=0.01))
    headers = {tenant: await key(bench, tenant) for tenant in ("", "acme", "zeta")}
    for tenant in ("acme", "zeta", "", "acme"):
        await submit(bench, headers[tenant], f"m{bench.stores.events.last()}", f"http://{tenant or 'none'}.example/")
        await bench.work()

    async with listening(bench, "/v1/events?after=0", headers["acme"]) as stream:
        await stream.until(b"id: 4\n")
        await submit(bench, headers["zeta"], "late", "http://late.example/")  # cached for all streams
        await submit(bench, headers["acme"], "late", "http://acme.example/late")
        await bench.work()
        text = await stream.until(b"http://acme.example/late")
    assert numbers(text) == [1, 4, 6]
    assert b"zeta" not in text
    assert b"none.example" not in text
    assert text.count(b'"tenant":"acme"') == 3

    async with listening(bench, "/v1/events?after=0", headers[""]) as stream:
        text = await stream.until(b"id: 6\n\n")
    assert numbers(text) == [3]
    assert b'"tenant"' not in text


async def test_stream_stays_alive_while_only_other_tenants_have_events() -> None:
    bench = Bench(required=True, pace=StreamTimings(heartbeat=0.05, slow=1.0, look=0.005))
    acme, zeta = await key(bench, "acme"), await key(bench, "zeta")

    async with listening(bench, "/v1/events?after=0", acme) as stream:
        async with asyncio.timeout(5):
            while not stream.text.count(b"id: ") > 2:  # a position without an event keeps the client up to date
                await submit(bench, zeta, f"m{bench.stores.events.last()}", "http://zeta.example/")
                await bench.work()
                await asyncio.sleep(0.01)

    assert numbers(stream.text) == []
    assert b"zeta" not in stream.text


async def test_admin_sees_the_events_of_all_tenants() -> None:
    bench = Bench(required=True)
    for tenant in ("acme", "zeta"):
        await submit(bench, await key(bench, tenant), "m1", f"http://{tenant}.example/")
    await bench.work()

    async with listening(bench, "/v1/events?after=0", await key(bench, "", "admin")) as stream:
        text = await stream.until(b"id: 2\n")

    assert numbers(text) == [1, 2]


async def test_deliveries_are_those_of_the_keys_tenant_and_callbacks_of_others_are_masked() -> None:
    bench = Bench(required=True, check_callback=lambda callback: "")
    headers = {tenant: await key(bench, tenant) for tenant in ("", "acme", "zeta")}
    admin = await key(bench, "", "admin")
    for tenant in ("", "acme"):
        await submit(bench, headers[tenant], "m1", f"http://{tenant or 'none'}.example/", callback=HOOK)
    await bench.work()

    listed = {
        tenant: (await bench.client.get("/v1/deliveries", header)).json["deliveries"]
        for tenant, header in headers.items()
    }
    (own,) = listed["acme"]
    assert (own["tenant"], own["message"], own["url"], own["callback"]) == (
        "acme",
        "m1",
        "http://acme.example/",
        HOOK,
    )
    assert [each["url"] for each in listed[""]] == ["http://none.example/"]
    assert listed["zeta"] == []

    all_of_them = (await bench.client.get("/v1/deliveries", admin)).json["deliveries"]
    assert {each["tenant"]: each["callback"] for each in all_of_them} == {"acme": "https://hooks.example", "": HOOK}

    path = f"/v1/deliveries/{own['id']}/resend"
    resent = [await bench.client.ask("POST", path, headers=[each]) for each in (headers["zeta"], headers[""], admin)]
    assert [got.status for got in resent] == [404, 404, 202]


async def test_statistics_and_history_are_those_of_the_keys_tenant() -> None:
    bench = Bench(required=True, waiting_for=lambda tenant: {"acme": 7}.get(tenant, 0))
    acme, zeta, own = await key(bench, "acme"), await key(bench, "zeta"), await key(bench, "")
    bench.services.history.sample()
    for name in ("m1", "m2"):
        await submit(bench, acme, name, "http://acme.example/")
    await submit(bench, zeta, "m1", "http://zeta.example/")
    bench.services.history.sample()

    seen = (await bench.client.get("/v1/stats", acme)).json
    points = (await bench.client.get("/v1/history", acme)).json["points"]
    whole = (await bench.client.get("/v1/stats", own)).json

    assert seen["counts"] == points[-1]["counts"] == {"messages.accepted": 2}
    assert (seen["gauges"], seen["stages"]) == ({"journal_entries": 7}, {})
    assert points[-1]["gauges"] == {}
    assert whole["counts"]["messages.accepted"] == 3
    assert whole["counts"]["tenant_messages.zeta.accepted"] == 1


@pytest.mark.parametrize("path", ["/metrics", "/v1/activity"])
async def test_what_all_tenants_do_is_shown_to_the_operator_only(path: str) -> None:
    bench = Bench(required=True)

    answers = [
        await bench.client.get(path, await key(bench, tenant, scope))
        for tenant, scope in (("acme", "read"), ("acme", "admin"), ("", "read"))
    ]

    assert [got.status for got in answers] == [403, 200, 200]
    assert answers[0].json["type"] == "urn:scoter:problem:whole-service"


async def test_backlog_of_a_tenant_is_limited_without_refusing_others() -> None:
    bench = Bench(required=True, config=small(backlog_per_tenant=2))
    acme, zeta = await key(bench, "acme"), await key(bench, "zeta")
    await submit(bench, acme, "m1", "http://a.example/1", "http://a.example/2")

    refused = await submit(bench, acme, "m2", "http://a.example/3")
    other = await submit(bench, zeta, "m2", "http://a.example/3")

    assert (refused.status, other.status) == (429, 202)
    assert bench.metrics.refusals.values == {("service",): 0, ("domain",): 0, ("tenant",): 1}
    await bench.work()
    assert (await submit(bench, acme, "m2", "http://a.example/3")).status == 202


async def test_record_is_shared_by_all_tenants() -> None:
    bench = Bench(required=True)
    await submit(bench, await key(bench, "acme"), "m1", "http://a.example/")
    await bench.work()

    got = await bench.client.get("/v1/urls?url=http://a.example/", await key(bench, "zeta"))

    assert got.status == 200


async def test_key_is_created_for_a_tenant() -> None:
    bench = Bench()
    admin = await key(bench, "", "admin")

    made = await bench.client.post("/v1/keys", {"name": "bot", "scopes": ["read"], "tenant": "acme"}, admin)
    wrong = [
        await bench.client.post("/v1/keys", {"name": "bot", "scopes": ["read"], "tenant": name}, admin)
        for name in ("Acme", "a.b", "a b", "x" * 64, "acme\n", "other")
    ]

    assert (made.status, made.json["tenant"]) == (201, "acme")
    assert {(got.status, got.json["where"]) for got in wrong} == {(422, "/tenant")}
    found = bench.stores.keys.check(made.json["token"])
    assert found is not None
    assert found == replace(found, tenant="acme")
