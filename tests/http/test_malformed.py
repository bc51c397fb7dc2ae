"""Malformed and invalid requests: each gets a response that the OpenAPI document describes."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.live.api.client import Exchanging
from tests.live.api.fakes import Bench

from scoter.config.sections.live import WebSettings
from scoter.live.intake.messages import TakeResult

JSON = ("Content-Type", "application/json")
ONE_LINE = "Expected a single line of text without control characters"
A_TIME = "Expected a duration such as 500ms, 5s or 1m"
BODIES = ("/v1/messages", "/v1/urls/lookup", "/v1/fetch")


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe{}",
        b'{"urls": ["\xff"]}',
        b'{"text": "\\ud800"}',
        b"{'urls': []}",
        b'{"urls": [NaN]}',
        b"[" * 100_000,
        b'{"urls":' * 10_000,
        b"{}{}",
        b"\x00",
        b'\xef\xbb\xbf{"text": "x"}',
    ],
)
async def test_body_that_is_not_json_is_never_accepted(path: str, body: bytes) -> None:
    bench = Bench()

    got = await bench.client.ask("POST", path, body, (JSON,))

    # Depends on what is read first: an unknown field, or the syntax error after it.
    assert got.status in (400, 422)
    assert bench.stores.journal.waiting() == 0
    assert bench.fetching.asked == []


@pytest.mark.parametrize(
    ("method", "target", "body", "where", "accepted"),
    [
        ("POST", "/v1/messages", {"urls": [], "priority": "urgent"}, "/priority", ["bulk", "normal", "person"]),
        ("POST", "/v1/messages", [{"priority": 3}], "/0/priority", ["bulk", "normal", "person"]),
        ("POST", "/v1/messages", [{"uri": "x"}], "/0", ["id", "text", "urls", "priority", "force", "callback"]),
        ("POST", "/v1/fetch", {"url": "http://a.example/", "body": "all"}, "/body", ["inline", "none", "reference"]),
        ("PUT", "/v1/domains/a.example", {"dealy": 3}, "", ["delay", "concurrency", "blocked", "note"]),
        ("GET", "/v1/urls?url=http://a.example/&weit=3s", None, "", ["url", "wait"]),
    ],
)
async def test_error_lists_the_accepted_values(
    method: str, target: str, body: object, where: str, accepted: list[str]
) -> None:
    got = await Bench().client.ask(method, target, json.dumps(body).encode(), (JSON,))

    assert got.status == 422
    assert (got.json.get("where", ""), got.json["accepted"]) == (where, accepted)
    assert got.json["detail"].endswith(f"Accepted: {', '.join(accepted)}.")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b"\xff\xfe{}", b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"{}{}"]
)
async def test_body_that_is_not_json_is_malformed(body: bytes) -> None:
    got = await Bench().client.ask("POST", "/v1/messages", body, (JSON,))

    assert got.status == 400


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "body", [None, 1, "x", True, [1], {"": 1}, {"urls": {"a": 1}}, {"url": 3}, {"id": ""}, [{}, None]]
)
async def test_json_of_the_wrong_shape_is_invalid(path: str, body: object) -> None:
    got = await Bench().client.post(path, body)

    assert got.status == 422


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"id": "a\nb"}, "/id"),
        ({"id": "x" * 201}, "/id"),
        ({"text": "x" * 100_001}, "/text"),
        ({"urls": [None]}, "/urls/0"),
        ({"urls": ["x"] * 1_001}, "/urls"),
        ({"priority": "urgent"}, "/priority"),
        ({"priority": 0}, "/priority"),
        ({"force": "true"}, "/force"),
        ({"txet": "see http://a.example/"}, ""),
        ([{"text": "fine"}, {"force": 1}], "/1/force"),
        ([], ""),
    ],
)
async def test_invalid_message_names_the_field(body: object, where: str) -> None:
    bench = Bench()

    got = await bench.client.post("/v1/messages", body)

    assert (got.status, got.json.get("where", "")) == (422, where)
    assert bench.stores.journal.waiting() == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "where", "words"),
    [
        ("POST", "/v1/messages", {"id": "a\nb"}, "/id", ONE_LINE),
        ("POST", "/v1/messages", [{}, {"id": "\x7f"}], "/1/id", ONE_LINE),
        ("GET", "/v1/urls?url=http://a.example/&wait=soon", None, "?wait", A_TIME),
        ("GET", "/v1/urls?url=http://a.example/&wait=", None, "?wait", A_TIME),
    ],
)
async def test_pattern_mismatch_is_explained_in_words(
    method: str, path: str, body: object, where: str, words: str
) -> None:
    client = Bench().client

    got = await (client.get(path) if method == "GET" else client.post(path, body))

    assert (got.status, got.json["where"], got.json["detail"]) == (422, where, words)


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"],
)
async def test_body_of_another_content_type_is_not_read(kind: str) -> None:
    got = await Bench().client.ask("POST", "/v1/messages", b'{"text": "x"}', (("Content-Type", kind),) if kind else ())

    assert got.status == 415


@pytest.mark.parametrize(
    "fields",
    [
        (("Content-Length", "1048577"), ("Expect", "100-continue")),
        (("Content-Length", "16777217"),),
        (("Content-Length", "99999999999999999999999999"),),
    ],
)
async def test_body_with_too_large_content_length_is_not_read(fields: tuple[tuple[str, str], ...]) -> None:
    got = await Bench().client.ask("POST", "/v1/messages", [], (JSON, *fields))

    assert got.status == 413


@pytest.mark.parametrize("count", [17, 257, 10_000])
async def test_body_that_turns_out_too_large_is_read_only_up_to_the_limit(count: int) -> None:
    bench = Bench()
    exchange = Exchanging("POST", "/v1/messages", [b"x" * 65_536] * count, headers=(("Host", "localhost"), JSON))

    await bench.app(exchange.scope, exchange.receive, exchange.send)

    assert exchange.got().status == 413
    assert len(exchange._parts) == count - 17


async def test_body_that_does_not_arrive_times_out() -> None:
    bench = Bench(web=WebSettings(body_time=timedelta(seconds=0.01)))
    exchange = Exchanging("POST", "/v1/messages", [], headers=(("Host", "localhost"), JSON))

    await bench.app(exchange.scope, exchange.receive, exchange.send)

    assert exchange.got().status == 408


async def test_client_that_disconnects_mid_request_gets_no_response() -> None:
    bench = Bench()
    exchange = Exchanging(
        "POST", "/v1/messages", [b'{"text": "http://a.example/"'], headers=(("Host", "localhost"), JSON)
    )
    exchange._parts.append(b"")
    asking = asyncio.create_task(bench.app(exchange.scope, _leaving(exchange), exchange.send))

    await asking

    assert exchange.status == 0
    assert bench.stores.journal.waiting() == 0


def _leaving(exchange: Exchanging) -> Any:
    async def receive() -> dict[str, Any]:
        if len(exchange._parts) == 2:
            return {"type": "http.request", "body": exchange._parts.pop(0), "more_body": True}
        return {"type": "http.disconnect"}

    return receive


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/messages", "POST"),
        ("DELETE", "/v1/messages", "POST"),
        ("HEAD", "/v1/messages", "POST"),
        ("POST", "/v1/urls", "GET, HEAD"),
        ("OPTIONS", "/v1/fetch", "POST"),
        ("POST", "/v1/domains/example.org", "GET, HEAD, PUT"),
        ("TRACE", "/metrics", "GET, HEAD"),
    ],
)
async def test_wrong_method_response_lists_allowed_methods(method: str, path: str, allowed: str) -> None:
    got = await Bench().client.ask(method, path)

    assert got.status == 405
    assert got.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "//v1/stats",
        "/v1/stats/",
        "/v1//stats",
        "/v1/./stats",
        "/v1/urls/../stats",
        "/v1/%2e%2e/metrics",
        "/%76%31/stats",
        "/V1/stats",
        "/v1/domains/",
        "/v1/domains/a/b",
        "/v1/domains/..%2f..%2fetc/passwd",
        "/v1/domains/" + "a" * 301,
        "/v1/domains/a b",
        "/v1/domains/a\r\nX: y",
        "/v1/stats;x=1",
        "/v1/stats%00",
        "*",
        "/etc/passwd",
    ],
)
async def test_path_variants_are_not_found(path: str) -> None:
    got = await Bench().client.get(path)

    assert got.status == 404


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("url", 422),
        ("wait=5s", 422),
        ("url=http://a.example/&url=http://b.example/", 422),
        ("url=http://a.example/?a=1&b=2", 422),
        ("&".join(f"p{n}=1" for n in range(100)), 400),
        ("url=%80&wait=0", 400),
        ("url=\xe9", 400),
    ],
)
async def test_invalid_query_string_is_refused(query: str, status: int) -> None:
    got = await Bench().client.get(f"/v1/urls?{query}")

    assert got.status == status


async def test_internal_error_response_reveals_no_details(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def take(self, messages: object) -> list[TakeResult]:
            raise ValueError("secret: hunter2")

    bench = Bench(sink=Broken())
    bench.client._document = None  # the document does not list status 500

    got = await bench.client.post("/v1/messages", {"text": "x"})

    assert got.status == 500
    assert b"hunter2" not in got.body
    assert "hunter2" in caplog.text


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_field = st.sampled_from(
    [
        "id",
        "text",
        "urls",
        "url",
        "priority",
        "force",
        "callback",
        "hops",
        "body",
        "most",
        "delay",
        "concurrency",
        "note",
    ]
)
_value = _json | st.sampled_from(
    ["http://a.example/", "http://127.0.0.1/", "person", "inline", "none", ["http://a.example/", "x"], 0, 1, 10, True]
)
_bodies = (
    _json
    | st.dictionaries(_field, _value, max_size=4)
    | st.lists(st.dictionaries(_field, _value, max_size=3), max_size=3)
)


@lru_cache(maxsize=1)
def _shared() -> Bench:
    """Return one service for all examples: earlier requests must not matter either."""
    return Bench()


@settings(max_examples=examples(150), deadline=None)
@given(route=st.sampled_from([("POST", path) for path in BODIES] + [("PUT", "/v1/domains/example.org")]), body=_bodies)
async def test_no_json_body_causes_a_server_error(route: tuple[str, str], body: object) -> None:
    got = await _shared().client.ask(*route, json.dumps(body).encode(), (JSON,))

    assert got.status < 500


@settings(max_examples=examples(150), deadline=None)
@given(route=st.sampled_from(BODIES), body=st.binary(max_size=60))
async def test_no_byte_sequence_causes_a_server_error(route: str, body: bytes) -> None:
    got = await _shared().client.ask("POST", route, body, (JSON,))

    assert got.status < 500


@settings(max_examples=examples(150), deadline=None)
@given(
    path=st.text(alphabet=st.characters(max_codepoint=255), max_size=20),
    query=st.text(alphabet=st.characters(max_codepoint=255), max_size=20),
    method=st.sampled_from(["GET", "POST", "PUT", "BREW"]),
)
async def test_no_request_target_causes_a_server_error(path: str, query: str, method: str) -> None:
    for target in (path.replace("?", ""), "/v1/urls", "/v1/domains/" + path.replace("?", ""), "/v1/events/"):
        got = await _shared().client.ask(method, f"{target}?{query}")
        assert got.status < 500
