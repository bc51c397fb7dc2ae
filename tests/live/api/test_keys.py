"""Access control: API keys, scopes, rate limits and open access on loopback."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.live.api.client import Client
from tests.live.api.fakes import Bench, Clock
from tests.live.api.test_urls import _nobody
from tests.live.memory.stores import MemoryStores

from scoter.errors import UsageError
from scoter.http.access import AccessControl, needs_keys
from scoter.http.api_keys import MOST_KEYS
from scoter.http.records import Problem
from scoter.live.api.lookup_app import LookupApp


async def key(bench: Bench, *scopes: str, rate: float | None = None) -> tuple[str, str]:
    """Create a key; return the header that presents it."""
    _, token = await bench.stores.keys.create("test", scopes, rate)
    return "Authorization", f"Bearer {token}"


async def test_only_health_is_public_when_keys_are_required() -> None:
    bench = Bench(required=True)

    assert (await bench.client.get("/healthz")).status == 200
    assert (await bench.client.get("/readyz")).status == 200
    assert (await bench.client.get("/v1/openapi.json")).status == 200
    for path in ("/v1/stats", "/metrics", "/v1/urls?url=http://a.example/", "/v1/events", "/v1/domains/example.org"):
        got = await bench.client.get(path)
        assert got.status == 401
        assert got.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Basic dXNlcjpwYXNz",
        "Bearer scoter_x_y",
        "Bearer \xe9\xff",
        "scoter_a_b",
    ],
)
async def test_invalid_authorization_header_is_refused(value: str) -> None:
    bench = Bench(required=True)

    got = await bench.client.get("/v1/stats", ("Authorization", value))

    assert got.status == 401


async def test_two_authorization_headers_are_refused() -> None:
    bench = Bench(required=True)
    good = await key(bench, "read")

    got = await bench.client.get("/v1/stats", good, ("Authorization", "Bearer other"))

    assert got.status == 401


@pytest.mark.parametrize(
    ("scope", "reads", "submits", "rules"),
    [("read", 200, 403, 403), ("submit", 403, 202, 403), ("admin", 200, 202, 200)],
)
async def test_key_allows_only_its_scope(scope: str, reads: int, submits: int, rules: int) -> None:
    bench = Bench(required=True)
    client = Client(bench.app, bench.document, (await key(bench, scope),))

    assert (await client.get("/v1/stats")).status == reads
    assert (await client.post("/v1/messages", {"text": "x"})).status == submits
    assert (await client.put("/v1/domains/example.org", {})).status == rules


async def test_key_may_have_several_scopes() -> None:
    bench = Bench(required=True)
    client = Client(bench.app, bench.document, (await key(bench, "read", "submit"),))

    assert (await client.get("/v1/stats")).status == 200
    assert (await client.post("/v1/messages", {"text": "x"})).status == 202


async def test_revoked_key_is_refused_at_once() -> None:
    bench = Bench(required=True)
    made, token = await bench.stores.keys.create("test", ["read"])
    await bench.stores.keys.revoke(made.id)

    got = await bench.client.get("/v1/stats", ("Authorization", f"Bearer {token}"))

    assert got.status == 401


async def test_key_over_its_rate_limit_gets_429_with_retry_after() -> None:
    bench = Bench(required=True)
    field = await key(bench, "read", rate=2)

    statuses = [(await bench.client.get("/v1/stats", field)).status for _ in range(3)]
    bench.clock.move(timedelta(seconds=0.5))
    after = [(await bench.client.get("/v1/stats", field)).status for _ in range(2)]

    assert statuses == [200, 200, 429]
    assert after == [200, 429]


async def test_rate_limit_of_one_key_does_not_affect_another() -> None:
    bench = Bench(required=True)
    slow, other = await key(bench, "read", rate=1), await key(bench, "read", rate=1)
    await bench.client.get("/v1/stats", slow)

    assert (await bench.client.get("/v1/stats", slow)).status == 429
    assert (await bench.client.get("/v1/stats", other)).status == 200


async def test_lookup_app_requires_a_key_too() -> None:
    bench = Bench(required=True)
    await bench.know("http://a.example/")
    client = Client(LookupApp(bench.services.lookup, bench.access, _nobody), bench.document)
    field = await key(bench, "read")
    submitter = await key(bench, "submit")

    assert (await client.get("/v1/urls?url=http://a.example/")).status == 401
    assert (await client.get("/v1/urls?url=http://a.example/", submitter)).status == 403
    assert (await client.get("/v1/urls?url=http://a.example/", field)).status == 200
    assert (await client.post("/v1/urls/lookup", {"urls": ["http://a.example/"]})).status == 401
    assert (await client.post("/v1/urls/lookup", {"urls": ["http://a.example/"]}, field)).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example:80", "[::2]", "", "[", "0"]
)
async def test_dns_rebinding_is_refused_when_keys_are_not_required(host: str) -> None:
    bench = Bench()
    client = Client(bench.app, bench.document)

    assert (await client.get("/v1/stats", ("Host", host))).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:99", "127.8.9.1"])
async def test_loopback_host_header_is_accepted_without_keys(host: str) -> None:
    bench = Bench()
    client = Client(bench.app, bench.document)

    assert (await client.get("/v1/stats", ("Host", host))).status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org", ""])
def test_service_on_a_public_address_does_not_start_without_keys(host: str) -> None:
    with pytest.raises(UsageError, match="without an API key"):
        needs_keys(host, has_keys=False)

    assert needs_keys(host, has_keys=True)
    assert not needs_keys(host, has_keys=False, insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_service_on_loopback_needs_no_keys(host: str) -> None:
    assert not needs_keys(host, has_keys=False)


def test_keys_can_be_required_on_loopback() -> None:
    assert needs_keys("127.0.0.1", has_keys=True, wanted=True)
    with pytest.raises(UsageError, match="API keys are required"):
        needs_keys("127.0.0.1", has_keys=False, wanted=True)


async def test_key_is_created_listed_and_revoked_over_http_and_shown_once() -> None:
    bench = Bench(required=True)
    owner = Client(bench.app, bench.document, (await key(bench, "admin"),))

    made = await owner.post("/v1/keys", {"name": "dashboard", "scopes": ["read", "read"], "rate": 2})
    field = ("Authorization", f"Bearer {made.json['token']}")
    used = await bench.client.get("/v1/stats", field)
    listed = await owner.get("/v1/keys")
    revoked = await owner.ask("DELETE", f"/v1/keys/{made.json['id']}")
    after = await bench.client.get("/v1/stats", field)
    again = await owner.ask("DELETE", f"/v1/keys/{made.json['id']}")

    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert (used.status, revoked.status, after.status, again.status) == (200, 200, 401, 404)
    assert [each["name"] for each in listed.json["keys"]] == ["test", "dashboard"]
    assert listed.json["keys"][1] == {
        **{name: value for name, value in made.json.items() if name != "token"},
        "last_used": "2026-05-01T12:00:00Z",
    }
    assert made.json["scopes"] == ["read"]


@pytest.mark.parametrize("scopes", [("read",), ("submit",), ("read", "submit")])
async def test_managing_keys_requires_the_admin_scope(scopes: tuple[str, ...]) -> None:
    bench = Bench(required=True)
    client = Client(bench.app, bench.document, (await key(bench, *scopes),))

    assert (await client.get("/v1/keys")).status == 403
    assert (await client.post("/v1/keys", {"name": "me", "scopes": ["admin"]})).status == 403
    assert (await client.ask("DELETE", "/v1/keys/abc")).status == 403


async def test_managing_keys_requires_a_key_even_if_access_is_open() -> None:
    bench = Bench()
    _, token = await bench.stores.keys.create("owner", ["admin"])

    without = [
        await bench.client.get("/v1/keys"),
        await bench.client.post("/v1/keys", {"name": "me", "scopes": ["admin"]}),
        await bench.client.ask("DELETE", "/v1/keys/abc"),
    ]
    shown = await bench.client.get("/v1/keys", ("Authorization", f"Bearer {token}"))

    assert [each.status for each in without] == [401, 401, 401]
    assert len(shown.json["keys"]) == 1


@pytest.mark.parametrize(
    ("order", "where"),
    [
        ({"name": "x", "scopes": []}, "/scopes"),
        ({"name": "x", "scopes": ["owner"]}, "/scopes/0"),
        ({"name": "", "scopes": ["read"]}, "/name"),
        ({"name": "a\nb", "scopes": ["read"]}, "/name"),
        ({"name": "x", "scopes": ["read"], "rate": 0}, "/rate"),
        ({"name": "x", "scopes": ["read"], "token": "mine"}, ""),
    ],
)
async def test_invalid_request_for_a_key_is_refused(order: object, where: str) -> None:
    bench = Bench(required=True)
    owner = Client(bench.app, bench.document, (await key(bench, "admin"),))

    got = await owner.post("/v1/keys", order)

    assert (got.status, got.json.get("where", "")) == (422, where)
    assert len(bench.stores.keys.all()) == 1


async def test_number_of_keys_is_limited() -> None:
    bench = Bench(required=True)
    owner = Client(bench.app, bench.document, (await key(bench, "admin"),))
    for number in range(MOST_KEYS - 1):
        await bench.stores.keys.create(f"k{number}", ["read"])

    got = await owner.post("/v1/keys", {"name": "one more", "scopes": ["read"]})

    assert (got.status, got.json["type"]) == (409, "urn:scoter:problem:too-many-keys")


async def test_debt_from_other_processes_is_bounded_by_the_burst() -> None:
    clock = Clock()
    keys = MemoryStores(clock=clock).keys
    key, token = await keys.create("test", ["read"], 10.0)
    access = AccessControl(keys, required=True, clock=clock.monotonic)
    headers = [(b"authorization", f"Bearer {token}".encode())]
    assert access.admit(headers, "read").refusal is None

    access.charge(key.id, 1_000_000)

    refused = access.admit(headers, "read").refusal
    assert isinstance(refused, Problem)
    assert refused.retry_after == pytest.approx(1.1)  # ten tokens of debt and the one for this request
    clock.move(timedelta(seconds=1.2))
    assert access.admit(headers, "read").refusal is None


async def test_key_is_charged_for_requests_of_other_processes() -> None:
    clock = Clock()
    keys = MemoryStores(clock=clock).keys
    key, token = await keys.create("test", ["read"], 10.0)
    access = AccessControl(keys, required=True, clock=clock.monotonic)
    headers = [(b"authorization", f"Bearer {token}".encode())]
    assert access.admit(headers, "read").refusal is None

    access.charge(key.id, 15)

    refused = access.admit(headers, "read").refusal
    assert isinstance(refused, Problem)
    assert refused.retry_after == pytest.approx(0.7)  # 10 - 1 - 15 leaves a debt of 6


@pytest.mark.parametrize("is_lean", [False, True])
async def test_responses_tell_a_key_its_rate_limit(is_lean: bool) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    _, token = await bench.stores.keys.create("a client", ("read",), rate=2.0)
    app = LookupApp(bench.services.lookup, bench.access, bench.app) if is_lean else bench.app
    client = Client(app, bench.document, (("Host", "localhost"), ("Authorization", f"Bearer {token}")))

    got = [await client.get("/v1/urls?url=http://a.example/") for _ in range(3)]
    bench.clock.move(timedelta(seconds=1))
    later = await client.get("/v1/urls?url=http://b.example/")

    assert [each.status for each in (*got, later)] == [200, 200, 429, 404]
    assert [each.headers["ratelimit"] for each in (*got, later)] == [
        '"key";r=1;t=1',
        '"key";r=0;t=1',
        '"key";r=0;t=1',
        '"key";r=1;t=1',
    ]
    assert {each.headers["ratelimit-policy"] for each in got} == {'"key";q=2;w=1'}


async def test_key_without_rate_limit_gets_no_rate_limit_headers() -> None:
    bench = Bench()
    _, token = await bench.stores.keys.create("a client", ("read",))

    got = await bench.client.get("/v1/stats", ("Authorization", f"Bearer {token}"))

    assert "ratelimit" not in got.headers
