"""Submission of messages over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.live.api.fakes import Bench

from scoter.config import Config
from scoter.live.api.records import DomainRule
from scoter.live.records import Priority


def small(**limits: int) -> Config:
    return replace(Config(), live=replace(Config().live, **limits))


async def test_text_is_accepted_with_the_urls_found_in_it() -> None:
    bench = Bench()

    got = await bench.client.post(
        "/v1/messages", {"id": "m1", "text": "see https://Example.org/a, and b.example.com/x"}
    )

    assert got.status == 202
    (receipt,) = got.json["messages"]
    assert receipt["id"] == "m1"
    assert receipt["status"] == "accepted"
    assert "https://example.org/a" in receipt["entries"]
    assert bench.stores.journal.waiting() == len(receipt["entries"])


@pytest.mark.parametrize(
    ("body", "where"),
    [({}, ""), ({"id": "m"}, ""), ({"text": "", "urls": []}, ""), ([{"text": "fine"}, {"force": True}], "/1")],
)
async def test_message_with_neither_text_nor_urls_is_invalid(body: object, where: str) -> None:
    bench = Bench()

    got = await bench.client.post("/v1/messages", body)

    assert (got.status, got.json.get("where", "")) == (422, where)
    assert bench.metrics.messages.values == {}


async def test_url_without_a_scheme_is_an_https_url() -> None:
    bench = Bench()

    got = await bench.client.post("/v1/messages", {"urls": ["Example.com/a", "b.example:8443", "mailto:me@c.example"]})
    (receipt,) = got.json["messages"]

    assert list(receipt["entries"]) == ["https://example.com/a", "https://b.example:8443/"]
    assert [each["url"] for each in receipt["unusable"]] == ["mailto:me@c.example"]
    await bench.work()
    for path in ("/v1/urls?url=example.com/a", "/v1/preview?url=example.com/a"):
        assert (await bench.client.get(path)).json["url"] == "https://example.com/a"
    assert (await bench.client.post("/v1/fetch", {"url": "example.com/b"})).json["url"] == "https://example.com/b"


async def test_message_without_an_id_gets_one() -> None:
    bench = Bench()

    first = await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})
    second = await bench.client.post("/v1/messages", {"urls": ["http://a.example/"]})

    ids = {got.json["messages"][0]["id"] for got in (first, second)}
    assert len(ids) == 2
    assert all(len(each) == 32 for each in ids)


@pytest.mark.parametrize("name", ["", "a\n", "\n", "a\nb", "a\x7f", "x" * 201])
async def test_message_id_must_be_one_printable_line(name: str) -> None:
    got = await Bench().client.post("/v1/messages", {"id": name, "urls": ["http://a.example/"]})

    assert (got.status, got.json["where"]) == (422, "/id")


async def test_repeated_message_is_accepted_once() -> None:
    bench = Bench()
    message = {"id": "m1", "urls": ["http://a.example/"]}
    first = await bench.client.post("/v1/messages", message)

    again = await bench.client.post("/v1/messages", message)

    assert again.json["messages"][0]["status"] == "known"
    assert again.json["messages"][0]["entries"] == first.json["messages"][0]["entries"]
    assert bench.stores.journal.waiting() == 1


async def test_invalid_and_blocked_urls_are_listed_and_the_rest_accepted() -> None:
    bench = Bench()
    await bench.stores.rules.put(DomainRule(domain="blocked.example", blocked=True))

    got = await bench.client.post(
        "/v1/messages", {"urls": ["http://a.example/", "::nonsense::", "http://www.blocked.example/x"]}
    )

    (receipt,) = got.json["messages"]
    assert list(receipt["entries"]) == ["http://a.example/"]
    assert [each["url"] for each in receipt["unusable"]] == ["::nonsense::", "http://www.blocked.example/x"]


async def test_empty_or_too_long_url_does_not_block_the_others() -> None:
    bench = Bench()
    long = "http://b.example/" + "x" * 9_000

    got = await bench.client.post(
        "/v1/messages", [{"urls": ["", "http://a.example/1", long]}, {"urls": ["http://a.example/2"]}]
    )

    assert got.status == 202
    first, second = got.json["messages"]
    assert list(first["entries"]) == ["http://a.example/1"]
    assert [each["url"] for each in first["unusable"]] == ["", long[:200]]
    assert "longer than 8192 characters" in first["unusable"][1]["why"]
    assert list(second["entries"]) == ["http://a.example/2"]


async def test_priority_and_force_reach_the_journal() -> None:
    bench = Bench()

    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"], "priority": "person", "force": True})

    (row,) = bench.stores.journal._rows.values()
    assert row.message.priority is Priority.PERSON
    assert row.message.force


async def test_receipts_are_in_the_order_of_the_messages() -> None:
    bench = Bench()

    got = await bench.client.post(
        "/v1/messages", [{"id": f"m{n}", "urls": [f"http://a.example/{n}"]} for n in range(3)]
    )

    assert [receipt["id"] for receipt in got.json["messages"]] == ["m0", "m1", "m2"]


async def test_full_service_answers_429_and_accepts_nothing() -> None:
    bench = Bench(config=small(backlog=1))
    await bench.client.post("/v1/messages", {"urls": ["http://c.example/"]})

    got = await bench.client.post("/v1/messages", {"urls": ["http://a.example/", "http://b.example/"]})

    assert got.status == 429
    assert got.headers["retry-after"] == "30"
    assert "domain" not in got.json
    assert bench.stores.journal.waiting() == 1
    assert bench.metrics.refusals.values == {("service",): 1.0, ("domain",): 0.0, ("tenant",): 0.0}


async def test_full_domain_answers_429_and_is_named() -> None:
    bench = Bench(config=small(backlog_per_domain=1))
    await bench.client.post("/v1/messages", {"urls": ["http://x.a.example/1"]})

    got = await bench.client.post("/v1/messages", {"urls": ["http://y.a.example/2"]})

    assert got.status == 429
    assert got.json["domain"] == "a.example"


async def test_messages_within_the_limits_are_accepted_when_others_are_not() -> None:
    bench = Bench(config=small(backlog_per_domain=1))
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/1"]})
    full = {"urls": ["http://a.example/2"]}

    got = await bench.client.post("/v1/messages", [full, {"urls": ["http://b.example/"]}])

    assert got.status == 202
    assert [receipt["status"] for receipt in got.json["messages"]] == ["refused", "accepted"]
    assert got.headers["retry-after"] == "5"


async def test_retry_after_the_given_time_is_accepted() -> None:
    bench = Bench(config=small(backlog_per_domain=1))
    await bench.stores.rules.put(DomainRule(domain="a.example", delay=5.4))
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/1"]})

    got = await bench.client.post("/v1/messages", [{"urls": ["http://a.example/2"]}, {"urls": ["http://b.example/"]}])

    assert got.json["messages"][0]["retry_after"] == 5.4
    assert got.headers["retry-after"] == "6"


@pytest.mark.parametrize(
    "callback",
    [
        "http://127.0.0.1/hook",
        "http://0x7f.1/hook",
        "http://2130706433/hook",
        "http://[::ffff:127.0.0.1]/hook",
        "http://169.254.169.254/latest",
        "http://10.0.0.8/",
        "https://example.org:22/",
        "http://user:word@example.org/hook",
        "https://token@example.org/hook",
        "ftp://example.org/",
        "javascript:alert(1)",
        "nonsense",
        "http://exa\r\nmple.org\x00/",
    ],
)
async def test_forbidden_callback_is_refused_on_submission(callback: str) -> None:
    bench = Bench()

    got = await bench.client.post(
        "/v1/messages", [{"text": "x"}, {"urls": ["http://a.example/"], "callback": callback}]
    )

    assert got.status == 422
    assert got.json["where"] == "/1/callback"
    assert bench.stores.journal.waiting() == 0


async def test_callback_delivery_is_queued_with_the_outcome() -> None:
    bench = Bench()
    await bench.client.post("/v1/messages", {"urls": ["http://a.example/"], "callback": "https://example.org/hook"})

    await bench.work()

    (delivery,) = await bench.stores.deliveries.due(10, timedelta(minutes=1))
    assert delivery.callback == "https://example.org/hook"
    assert delivery.event.url == "http://a.example/"
