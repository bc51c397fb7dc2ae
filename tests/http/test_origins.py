"""Requests that a page of another origin makes in somebody's browser."""

from __future__ import annotations

import pytest
from tests.live.api.client import Client
from tests.live.api.fakes import Bench
from tests.live.api.test_tenants import key
from tests.live.api.test_urls import _nobody

from scoter.http.access import AccessControl
from scoter.http.sessions import COOKIE
from scoter.live.api.lookup_app import LookupApp

OWN = ("Origin", "http://127.0.0.1:8000")
APP = "https://app.example"
PREVIEW = "/v1/preview?url=http://a.example/&wait=0s"


@pytest.mark.parametrize(
    "headers",
    [
        [("Origin", "https://evil.example")],
        [("Origin", "null")],
        [("Origin", "http://127.0.0.1:9999")],
        [("Sec-Fetch-Site", "cross-site")],  # an image or a script: no Origin
        [("Sec-Fetch-Site", "same-site")],  # another port of this machine
        [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")],
        [OWN, ("Sec-Fetch-Site", "cross-site")],
    ],
)
async def test_without_keys_a_page_of_another_origin_cannot_even_read(headers: list[tuple[str, str]]) -> None:
    bench = Bench()
    lookups = Client(
        LookupApp(bench.services.lookup, AccessControl(bench.stores.keys, required=False), _nobody),
        headers=bench.client.headers,
    )

    answers = [await bench.client.get(path, *headers) for path in (PREVIEW, "/v1/stats")]
    answers.append(await lookups.get("/v1/urls?url=http://a.example/", *headers))

    assert {(got.status, got.json["type"]) for got in answers} == {(403, "urn:scoter:problem:foreign-origin")}
    assert bench.stores.journal.waiting() == 0


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [OWN],
        [OWN, ("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "same-origin")],
        [("Sec-Fetch-Site", "none")],  # typed by a person
    ],
)
async def test_own_pages_and_programs_need_no_key(headers: list[tuple[str, str]]) -> None:
    assert (await Bench().client.get(PREVIEW, *headers)).status == 202


@pytest.mark.parametrize(
    ("origins", "origin", "status"),
    [((APP,), APP, 202), (("*",), "https://any.example", 202), ((APP,), "https://evil.example", 403)],
)
async def test_page_of_a_configured_origin_needs_no_key(origins: tuple[str, ...], origin: str, status: int) -> None:
    headers = (("Origin", origin), ("Sec-Fetch-Site", "cross-site"))

    assert (await Bench(origins=origins).client.get(PREVIEW, *headers)).status == status


async def test_key_is_enough_for_a_page_of_any_origin() -> None:
    bench = Bench()

    got = await bench.client.get(PREVIEW, await key(bench, ""), ("Origin", "https://evil.example"))

    assert got.status == 202


@pytest.mark.parametrize("origins", [(APP,), ("*",)])
async def test_page_of_a_configured_origin_cannot_write_with_somebodys_session(origins: tuple[str, ...]) -> None:
    bench = Bench(origins=origins)
    made, _ = await bench.stores.keys.create("owner", ("admin",))
    secret, _ = bench.access.sessions.create(made.id)
    message = {"urls": ["http://a.example/"]}
    cookie, foreign = ("Cookie", f"{COOKIE}={secret}"), ("Origin", APP)

    with_session = await bench.client.post("/v1/messages", message, cookie, foreign)
    own = await bench.client.post("/v1/messages", message, cookie, OWN)
    without = await bench.client.post("/v1/messages", message, foreign)

    assert (with_session.status, own.status, without.status) == (403, 202, 202)
    assert with_session.json["type"] == "urn:scoter:problem:foreign-origin"
