"""A whole service against hostile sites: pages, images and redirects."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.live.fetching.webs import impolite
from tests.live.odd_web import MISSING, OddWeb, Said, moved, odd_web, page
from tests.live.service.running import Service, service

pytestmark = pytest.mark.slow

DELAY = 0.2


def png(width: int, height: int) -> Said:
    """Return the header of an image with the given size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return Said(body, headers=(("Content-Type", "image/png"),))


def with_image(url: str) -> Said:
    return page(f'<title>It</title><meta property="og:image" content="{url}">')


SITES: dict[tuple[str, str], Said] = {
    ("good.example", "/"): with_image("http://pictures.example/p.png"),
    ("pictures.example", "/p.png"): png(640, 480),
    ("liar.example", "/"): with_image("http://pictures.example/page"),
    ("pictures.example", "/page"): with_image("http://pictures.example/never.png"),
    ("inward.example", "/"): with_image("http://127.0.0.1:1/x.png"),
    ("inward.example", "/by"): with_image("http://by.example/inward.png"),
    ("by.example", "/inward.png"): moved("http://169.254.169.254/latest/"),
    ("circle.example", "/"): with_image("http://circle.example/1.png"),
    ("circle.example", "/1.png"): moved("http://circle.example/2.png"),
    ("circle.example", "/2.png"): moved("http://circle.example/1.png"),
    ("back.example", "/"): with_image("http://back.example/1.png"),
    ("back.example", "/1.png"): moved("http://back.example/"),
    ("bomb.example", "/"): with_image("http://bomb.example/b.png"),
    ("bomb.example", "/b.png"): png(2**31 - 1, 2**31 - 1),
    ("broken.example", "/"): with_image("http://broken.example/b.png"),
    ("broken.example", "/b.png"): Said(b"\x89PNG\r\n\x1a\n\0\0", headers=(("Content-Type", "image/png"),)),
    ("poison.example", "/"): page('<title>Poison</title><link rel="canonical" href="http://victim.example/">'),
    ("victim.example", "/"): page("<title>Victim</title>"),
    ("suffix.co.uk", "/"): page('<title>S</title><link rel="canonical" href="http://other.co.uk/">'),
    ("own.example", "/a"): page('<title>A</title><link rel="canonical" href="http://www.own.example/canonical">'),
    ("own.example", "/b"): page('<title>B</title><link rel="canonical" href="http://own.example/direct">'),
    ("own.example", "/direct"): page("<title>Direct</title>"),
    ("error.example", "/"): Said(
        b'<link rel="canonical" href="http://error.example/named">', 500, (("Content-Type", "text/html"),)
    ),
    ("loop.example", "/1"): moved("http://www.loop.example/2"),
    ("www.loop.example", "/2"): moved("http://loop.example/1"),
    ("short.example", "/"): moved("http://by.example/", 301),
    ("by.example", "/"): page('<meta http-equiv="refresh" content="0; url=http://long.example/end">'),
    ("long.example", "/end"): page("<title>The end</title>"),
    ("scheme.example", "/"): moved("gopher://long.example/"),
    ("nowhere.example", "/"): Said(b"", 302),
    ("hidden.example", "/"): moved("http://[::ffff:10.0.0.1]/"),
    ("long.example", "/text"): page("<title>Long</title></head><body>" + "<p>Words and words.</p>" * 150_000),
}


def answer(host: str, path: str) -> Said:
    if host == "chain.example" and path.removeprefix("/").isdigit():
        return moved(f"http://chain.example/{int(path[1:]) + 1}")
    return SITES.get((host, path), MISSING)


@pytest.fixture(scope="module")
def web() -> Iterator[OddWeb]:
    with odd_web(answer) as found:
        yield found


@pytest.fixture(scope="module")
def live(web: OddWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("hostile") / "live"
    options = ("live.fetch_image=true", f"fetch.delay={DELAY}s", "live.known_for=10h", "live.failed_for=10m")
    with service(folder, web.port, *options) as started:
        started.wait_until_ready()
        yield started


def submitted(live: Service, *urls: str) -> list[dict[str, Any]]:
    """Submit URLs and return the outcome of each."""
    assert live.submit(*urls).status == 202
    return [live.record(url) for url in urls]


def known(live: Service, url: str) -> dict[str, Any] | None:
    got = live.get(f"/v1/urls?url={url}")
    return got.json if got.status == 200 else None


def lasts(record: dict[str, Any]) -> timedelta:
    return datetime.fromisoformat(record["expires_at"]) - datetime.fromisoformat(record["fetched_at"])


def test_preview_image_is_fetched_in_a_slot_of_its_own_domain(live: Service, web: OddWeb) -> None:
    (record,) = submitted(live, "http://good.example/")

    related = record["related"]
    image = related["image"]
    assert (image["media_type"], image["width"], image["height"]) == ("image/png", 640, 480)
    assert related["bytes"] == len(png(640, 480).body)
    assert related["archived"]["length"] > 0
    assert web.asked("pictures.example")[:2] == [("pictures.example", "/robots.txt"), ("pictures.example", "/p.png")]
    assert impolite(web.entries, DELAY) == []


def test_invalid_image_fails_nothing_and_is_not_followed(live: Service, web: OddWeb) -> None:
    names = ("liar", "circle", "back", "bomb", "broken")

    inward, *records = submitted(
        live, "http://inward.example/", *(f"http://{name}.example/" for name in names), "http://inward.example/by"
    )

    assert {record["state"] for record in (inward, *records)} == {"ok"}
    assert "related" not in inward  # its image has no public address
    related = {name: record["related"] for name, record in zip((*names, "by"), records, strict=True)}
    states = {name: found.get("state", "ok") for name, found in related.items()}
    assert states == {
        "liar": "failed",
        "by": "refused",
        "circle": "failed",
        "back": "failed",
        "bomb": "ok",
        "broken": "ok",
    }
    assert ("pictures.example", "/never.png") not in web.asked()
    assert len(web.asked("circle.example")) == 4  # robots.txt, the page, and each of the two once
    assert [path for _, path in web.asked("back.example")] == ["/robots.txt", "/", "/1.png"]


def test_page_never_sets_the_record_of_its_canonical_url(live: Service) -> None:
    direct, _, b = submitted(live, "http://own.example/direct", "http://own.example/a", "http://own.example/b")
    submitted(live, "http://poison.example/", "http://suffix.co.uk/", "http://error.example/")

    again = known(live, "http://own.example/direct")
    assert again is not None
    assert (again["fetch"], again["metadata"]["title"]) == (direct["fetch"], "Direct")
    assert b["metadata"]["title"] == "B"
    for url in (
        "http://www.own.example/canonical",
        "http://victim.example/",
        "http://other.co.uk/",
        "http://error.example/named",
    ):
        assert known(live, url) is None

    (victim,) = submitted(live, "http://victim.example/")
    submitted(live, "http://poison.example/?again")
    assert known(live, "http://victim.example/") == victim


def test_each_hop_is_recorded_and_uses_a_slot_of_its_domain(live: Service, web: OddWeb) -> None:
    (record,) = submitted(live, "http://short.example/")

    assert (record["state"], record["resolved"]) == ("ok", "http://long.example/end")
    assert [(hop["url"], hop["status"]) for hop in record["hops"]] == [
        ("http://short.example/", 301),
        ("http://by.example/", 200),
        ("http://long.example/end", 200),
    ]
    assert record["hops"][0]["permanent"]
    for hop in record["hops"]:
        found = known(live, hop["url"])
        assert found is not None
        assert (found["fetch"], found["resolved"]) == (record["fetch"], record["resolved"])
    assert impolite(web.entries, DELAY) == []


def test_page_above_the_content_limit_gets_a_preview(live: Service) -> None:
    (record,) = submitted(live, "http://long.example/text")

    assert (record["state"], record["metadata"]["title"], record["truncated"]) == ("ok", "Long", True)
    assert record["length"] == 2**20


def test_bad_redirect_chains_end_and_expire_soon(live: Service, web: OddWeb) -> None:
    loop, chain, scheme, nowhere, hidden, good = submitted(
        live,
        "http://loop.example/1",
        "http://chain.example/1",
        "http://scheme.example/",
        "http://nowhere.example/",
        "http://hidden.example/",
        "http://long.example/end",
    )

    assert [(record["state"], record["reason"]) for record in (loop, chain, nowhere)] == [("failed", "redirects")] * 3
    assert [record["state"] for record in (scheme, hidden)] == ["refused", "refused"]
    assert len(chain["hops"]) == 6
    assert [path for _, path in web.asked("chain.example")] == ["/robots.txt", *(f"/{n}" for n in range(1, 7))]
    other = known(live, "http://www.loop.example/2")
    assert other is not None
    assert other["state"] == "failed"
    assert known(live, "http://chain.example/4") is None  # from there it is not too far
    assert {lasts(record) for record in (loop, chain, scheme, nowhere, hidden)} == {timedelta(minutes=10)}
    assert lasts(good) == timedelta(hours=10)


def test_failed_url_is_requested_again_only_after_failed_for(live: Service, web: OddWeb) -> None:
    first, second = (submitted(live, "http://missing.example/x")[0] for _ in range(2))
    forced = live.submit("http://missing.example/x", force=True)
    record = live.get("/v1/urls?url=http://missing.example/x&wait=10s").json

    assert forced.status == 202
    assert first["fetch"] == second["fetch"] != record["fetch"]
    assert [path for _, path in web.asked("missing.example")] == ["/robots.txt", "/x", "/x"]
