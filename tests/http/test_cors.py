"""Pages of configured origins may use the API from a browser; others may not."""

from __future__ import annotations

import pytest
from tests.live.api.client import Client
from tests.live.api.fakes import Bench

from scoter.config import load
from scoter.errors import ConfigError
from scoter.http.asgi import Cors

OURS = "https://app.example"


def client_of(*origins: str) -> Client:
    return Client(Cors(Bench(origins=origins).app, origins), headers=(("Host", "localhost"),))


@pytest.mark.parametrize(
    ("origins", "origin", "allowed"),
    [
        ((OURS,), OURS, OURS),
        ((OURS, "http://b.example"), "http://b.example", "http://b.example"),
        (("*",), "https://any.example", "https://any.example"),
        ((OURS,), "https://evil.example", None),
        ((OURS,), "null", None),
    ],
)
async def test_only_configured_origins_may_read_responses(
    origins: tuple[str, ...], origin: str, allowed: str | None
) -> None:
    got = await client_of(*origins).get("/v1/stats", ("Origin", origin))

    assert got.status == (200 if allowed else 403)
    assert got.headers.get("access-control-allow-origin") == allowed
    assert got.headers.get("vary") == ("Origin" if allowed else None)
    assert "access-control-allow-credentials" not in got.headers


async def test_preflight_request_of_a_configured_origin_is_approved() -> None:
    asked = (("Origin", OURS), ("Access-Control-Request-Method", "POST"))

    got = await client_of(OURS).ask("OPTIONS", "/v1/messages", headers=asked)
    other = await client_of("https://b.example").ask("OPTIONS", "/v1/messages", headers=asked)

    assert (got.status, got.body) == (204, b"")
    assert "POST" in got.headers["access-control-allow-methods"]
    assert "Content-Type" in got.headers["access-control-allow-headers"]
    assert other.status == 405


async def test_request_without_origin_is_not_changed() -> None:
    assert "vary" not in (await client_of("*").get("/v1/stats")).headers


@pytest.mark.parametrize("origin", ["example.org", "https://example.org/", "https://", "ftp://a.example"])
def test_setting_must_be_an_origin(origin: str) -> None:
    with pytest.raises(ConfigError, match="an origin such as"):
        load(overrides=[f"web.cors_origins={origin}"])
