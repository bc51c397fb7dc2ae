"""Archived copies for display: addresses lead to other copies, redirects are followed, nothing leaves the archive."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.batch.api.crawls import BatchBench
from tests.batch.api.test_sessions import OWN, log_in
from tests.cli.conftest import run_in_process
from tests.ui.illustrated_site import CRAWLED, START, illustrated_site

from scoter.batch.api import archived_copies
from scoter.batch.api.archived_copies import ArchivedCopy
from scoter.batch.api.handlers.copies import _LINKED, _SANDBOX, _shown
from scoter.batch.api.replay import CopyRewriter
from scoter.batch.api.replay_tickets import LIFETIME, ReplayTickets
from scoter.batch.jobs.readseg import ArchivedContent
from scoter.http.asgi import ApiResponse, HeaderFields
from scoter.http.sessions import SessionAccess

PAGE = f"/v1/crawls/pictures/replay?url={quote(START, safe='')}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a crawl of the site."""
    found = tmp_path_factory.mktemp("crawls")
    with illustrated_site() as port:
        settings = ("fetch.delay=0", "agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{port}"]')
        done = run_in_process(
            found, "crawl", "pictures", *CRAWLED, "--rounds", "1", *(f"-D{each}" for each in settings)
        )
    assert done.code == 0, done.err
    return found


def addresses(body: bytes) -> list[str]:
    """Return the addresses of archived copies in a page or stylesheet."""
    return [unescape(each) for each in re.findall(r"/v1/replays/[^\"' )]+", body.decode())]


def address_of(body: bytes, url: str) -> str:
    """Return the address in a page of the copy of a URL."""
    return next(each for each in addresses(body) if f"url={quote(url, safe='')}&" in each)


async def test_addresses_of_a_page_lead_to_archived_copies(folder: Path) -> None:
    bench = BatchBench(folder)
    page = (await bench.client.get(PAGE)).body

    style = await bench.client.get(address_of(page, START + "style"))
    dot = await bench.client.get(address_of(page, START + "dot"))
    more = await bench.client.get(address_of(style.body, START + "more-style"))

    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert dot.headers["content-type"] == "image/png"
    assert dot.headers["cross-origin-resource-policy"] == "cross-origin"
    assert b"rgb(1, 2, 3)" in more.body
    # Nothing else is an address.
    assert re.findall(rb"(?:src|href|srcset|url\()=?[\"'](?!/v1/replays/)[^\"']*", page) == []


async def test_a_redirect_is_followed_to_the_archived_target(folder: Path) -> None:
    bench = BatchBench(folder)
    page = (await bench.client.get(PAGE)).body

    moved = await bench.client.get(address_of(page, START + "old"))
    direct = await bench.client.get(f"/v1/crawls/pictures/replay?url={quote(START + 'old')}")

    for found in (moved, direct):
        assert b"The new place" in found.body
        assert found.headers["scoter-url"] == START + "new"


async def test_what_is_not_archived_is_shown_as_such(folder: Path) -> None:
    bench = BatchBench(folder)
    page = (await bench.client.get(PAGE)).body

    never = await bench.client.get(address_of(page, START + "never"), ("Sec-Fetch-Dest", "iframe"))
    lost = await bench.client.get(address_of(page, START + "lost"), ("Sec-Fetch-Dest", "image"))
    style = await bench.client.get(address_of(page, START + "lost"), ("Sec-Fetch-Dest", "style"))

    assert never.status == lost.status == style.status == 404
    assert b"not archived" in never.body
    assert lost.headers["content-type"] == "image/svg+xml"
    assert style.body == b""
    for found in (never, lost, style):
        assert found.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


async def test_a_ticket_ends_with_its_session_and_its_key(folder: Path) -> None:
    bench = BatchBench(folder, required=True)
    key = await bench.token("read")
    cookie = await log_in(bench, "read")
    by_key = addresses((await bench.client.get(PAGE, key)).body)[0]
    by_session = addresses((await bench.client.get(PAGE, cookie)).body)[0]

    assert (await bench.client.get(PAGE)).status == 401
    assert (await bench.client.get(by_key)).status == (await bench.client.get(by_session)).status == 200
    assert (await bench.client.get(by_key.replace("/replays/", "/replays/0"))).status == 401

    await bench.client.ask("DELETE", "/v1/session", headers=(cookie, OWN))
    assert (await bench.client.get(by_session)).json["type"].endswith("no-ticket")
    for each in bench.keys.all():
        await bench.keys.revoke(each.id)
    assert (await bench.client.get(by_key)).json["type"].endswith("no-ticket")


async def test_a_ticket_expires_and_is_for_one_crawl() -> None:
    now = [0.0]
    tickets = ReplayTickets(lambda: now[0])
    bench_access = SessionAccess(None, None, required=False)  # type: ignore[arg-type]  # not used without keys
    one, other = tickets.issue("one", {}), tickets.issue("other", {})

    assert [tickets.admit(each, bench_access)[0] for each in (one, other)] == ["one", "other"]
    now[0] = LIFETIME
    assert tickets.admit(one, bench_access)[0] is None


async def test_requests_with_a_ticket_count_against_the_limit_of_the_key(folder: Path) -> None:
    bench = BatchBench(folder, required=True)
    _, token = await bench.keys.create("slow", ["read"], rate=1.0)
    page = await bench.client.get(PAGE, ("Authorization", f"Bearer {token}"))
    address = addresses(page.body)[0]

    refused = [await bench.client.get(address) for _ in range(5)]

    assert [each.status for each in refused][-1] == 429
    assert refused[-1].json["type"].endswith("key-rate")


async def test_copies_are_found_beyond_the_nearest_segments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = BatchBench(folder)
    page = (await bench.client.get(PAGE)).body
    monkeypatch.setattr(archived_copies, "_SEGMENTS", 0)

    moved = await bench.client.get(address_of(page, START + "old"))
    never = await bench.client.get(address_of(page, START + "never"))

    assert b"The new place" in moved.body
    assert never.status == 404


def rewritten(markup: str) -> str:
    page = CopyRewriter("http://a.test/x/y", lambda url: f"[{url}]").page(markup.encode(), "B<b>")
    assert page is not None
    return page.decode().partition("</div>")[2].removesuffix("</body></html>")


@pytest.mark.parametrize(
    ("markup", "result"),
    [
        ('<a href="b?c&amp;d#e" target=_top ping=/p>', '<a href="[http://a.test/x/b?c&amp;d]#e"></a>'),
        ('<a href="#top">', '<a href="#top"></a>'),
        ('<a href=" javascript:alert(1)">', "<a></a>"),
        ('<a href="data:text/html,x">', "<a></a>"),
        ('<a href="//[x">', "<a></a>"),
        ('<img src="data:image/gif,x">', '<img src="data:image/gif,x">'),
        (
            '<img srcset="a.jpg, /b,c.jpg 2x,">',
            '<img srcset="[http://a.test/x/a.jpg], [http://a.test/b,c.jpg] 2x">',
        ),
        ('<img src="data:," data-src=a>', '<img src="[http://a.test/x/a]" data-src="a">'),
        ("<p><noscript><img src=a></noscript>", '<p><noscript><img src="[http://a.test/x/a]"></noscript></p>'),
        ("<svg><a xlink:href=a></a></svg>", '<svg><a xlink:href="[http://a.test/x/a]"></a></svg>'),
        ("<form action=/a><button formaction=/b></form>", "<form><button></button></form>"),
        ("<iframe src=a srcdoc=b></iframe>", '<iframe src="[http://a.test/x/a]"></iframe>'),
        ("<script src=a></script><object data=a></object>", ""),
        ("<p><base href=/z/><img src=a>", '<p><img src="[http://a.test/z/a]"></p>'),
        ("<p><link rel=preconnect href=//b.test><meta http-equiv=refresh content='0;url=/a'>", "<p></p>"),
        (
            "<p style=\"background:URL( 'a\\62' )\">",
            '<p style="background:url(&quot;[http://a.test/x/ab]&quot;)"></p>',
        ),
        ("<p><style>@import 'a';b{c:url(javascript:d)}</style>", None),
    ],
)
def test_addresses_are_rewritten(markup: str, result: str | None) -> None:
    expected = '<p><style>@import url("[http://a.test/x/a]");b{c:url("")}</style></p>' if result is None else result

    assert rewritten(markup) == expected


def test_a_page_that_is_dangerous_to_parse_is_not_shown() -> None:
    assert CopyRewriter("http://a.test/", str).page(b"<div>" * 500_000, "") is None


@pytest.mark.parametrize("policy", [_SANDBOX, _LINKED])
def test_an_archived_svg_requests_nothing_from_the_server(policy: HeaderFields) -> None:
    content = ArchivedContent(
        status=200, headers=(("Content-Type", "image/svg+xml"),), body=b'<svg><image href="/v1/crawls"/></svg>'
    )
    copy = ArchivedCopy(url="http://a.test/x.svg", segment="s", fetched=None, content=content)

    shown = _shown(copy, "ticket", policy)

    assert isinstance(shown, ApiResponse)
    policies = [value for name, value in shown.headers if name == b"content-security-policy"]
    assert len(policies) == 1
    assert policies[0].startswith(b"sandbox; default-src 'none'")
    assert b"'self'" not in policies[0]
