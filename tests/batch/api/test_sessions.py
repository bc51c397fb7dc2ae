"""Keys, scopes, session cookies, and protection against pages of other sites."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from tests.batch.api.crawls import BatchBench

from scoter.batch.crawldir.directory import CrawlDir
from scoter.http.sessions import SessionAccess, Sessions, StoredSession

OWN = ("Origin", "http://127.0.0.1:8010")


async def log_in(bench: BatchBench, *scopes: str) -> tuple[str, str]:
    """Exchange a new key for a cookie, and return the header that sends it."""
    got = await bench.client.ask("POST", "/v1/session", headers=(await bench.token(*scopes),))
    assert got.status == 201
    return "Cookie", got.headers["set-cookie"].partition(";")[0]


async def test_requests_need_a_key_with_the_right_scope(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True, program=["/bin/true"])
    CrawlDir.create(tmp_path / "news", bench.clock())
    reader, writer = await bench.token("read"), await bench.token("submit")

    assert (await bench.client.get("/v1/crawls")).status == 401
    assert (await bench.client.get("/v1/crawls", reader)).status == 200
    assert (await bench.client.post("/v1/crawls/news/jobs", {}, reader)).status == 403
    assert (await bench.client.post("/v1/crawls/news/jobs", {}, writer)).status == 202
    assert (await bench.client.get("/v1/keys", writer)).status == 403
    assert (await bench.client.get("/healthz")).status == 200


async def test_a_key_is_exchanged_for_a_cookie_that_is_safe_and_can_be_revoked(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True)
    key = await bench.token("read")

    got = await bench.client.ask("POST", "/v1/session", headers=(key,))
    cookie = got.headers["set-cookie"]
    sent = ("Cookie", cookie.partition(";")[0])

    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert (await bench.client.get("/v1/session", sent)).json["scopes"] == ["read"]
    assert (await bench.client.get("/v1/crawls", sent)).status == 200
    ended = await bench.client.ask("DELETE", "/v1/session", headers=(sent, OWN))
    assert "Max-Age=0" in ended.headers["set-cookie"]
    assert (await bench.client.get("/v1/crawls", sent)).status == 401


async def test_behind_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True)
    headers = (await bench.token("read"), ("X-Forwarded-Proto", "https"))

    got = await bench.client.ask("POST", "/v1/session", headers=headers)

    assert "; Secure" in got.headers["set-cookie"]


async def test_a_session_ends_after_its_lifetime_and_with_its_key(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True)
    first, second = await log_in(bench, "read"), await log_in(bench, "read")

    await bench.keys.revoke(bench.keys.all()[0].id)
    assert (await bench.client.get("/v1/crawls", first)).status == 401
    assert (await bench.client.get("/v1/crawls", second)).status == 200
    bench.clock.now += timedelta(hours=13)
    assert (await bench.client.get("/v1/crawls", second)).status == 401


def test_the_number_of_sessions_is_bounded() -> None:
    sessions = Sessions(most=2)

    first, _ = sessions.create("a")
    for _ in range(5):
        sessions.create("b")

    assert len(sessions) == 2
    assert sessions.find(first) is None


async def test_a_session_cannot_be_opened_without_a_key(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)

    assert (await bench.client.ask("POST", "/v1/session")).status == 401


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8010", 202),
        ("http://127.0.0.1:9999", 403),
        ("https://evil.example", 403),
        ("http://127.0.0.1:8010.evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
async def test_a_write_with_a_cookie_must_come_from_the_server_itself(origin: str, status: int, tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True, program=["/bin/true"])
    CrawlDir.create(tmp_path / "news", bench.clock())
    headers = [await log_in(bench, "read", "submit"), *([("Origin", origin)] if origin else [])]

    assert (await bench.client.post("/v1/crawls/news/jobs", {}, *headers)).status == status


async def test_without_keys_a_page_of_another_site_cannot_write(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, program=["/bin/true"])
    CrawlDir.create(tmp_path / "news", bench.clock())

    foreign = await bench.client.post("/v1/crawls/news/jobs", {}, ("Origin", "https://evil.example"))
    own = await bench.client.post("/v1/crawls/news/jobs", {}, OWN)

    assert (foreign.status, own.status) == (403, 202)


def test_sessions_survive_a_restart_and_the_file_reveals_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    now = [1_000.0]
    before = Sessions(file, clock=lambda: now[0])
    secret, _ = before.create("0a1b2c")
    other, _ = before.create("3d4e5f")
    before.end(other)

    after = Sessions(file, clock=lambda: now[0])

    found = after.find(secret)
    assert found is not None
    assert found.key == "0a1b2c"
    assert after.find(other) is None
    assert after.find("wrong") is None
    (stored,) = json.loads(file.read_bytes())
    assert stored == {
        "digest": base64.b64encode(sha256(secret.encode()).digest()).decode(),
        "ends": 44_200.0,
        "key": "0a1b2c",
    }
    assert file.stat().st_mode & 0o777 == 0o600
    now[0] += 12 * 3_600
    assert Sessions(file, clock=lambda: now[0]).find(secret) is None


async def test_a_session_has_the_id_of_its_key_and_not_the_key(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True)

    _, cookie = await log_in(bench, "read")

    secret = cookie.partition("=")[2]
    session = bench.sessions.find(secret)
    assert session is not None
    assert session == StoredSession(sha256(secret.encode()).digest(), session.ends, bench.keys.all()[0].id)


async def test_a_session_that_was_stored_with_its_key_has_ended(tmp_path: Path) -> None:
    bench, file = BatchBench(tmp_path, required=True), tmp_path / "sessions.json"
    await bench.token("admin")
    digest = base64.b64encode(sha256(b"s3cret").digest()).decode()
    file.write_text(json.dumps([{"digest": digest, "sealed": "c2VhbGVk", "ends": 2_000.0}]))
    access = SessionAccess(bench.keys, Sessions(file, clock=lambda: 1_000.0), required=True)

    refusal = access.admit([(b"cookie", b"scoter_session=s3cret")], "read").refusal

    assert refusal is not None
    assert refusal.status == 401


def test_a_damaged_file_of_sessions_ends_them(tmp_path: Path) -> None:
    (tmp_path / "sessions.json").write_bytes(b"[{")

    assert len(Sessions(tmp_path / "sessions.json")) == 0
