"""Challenges, blocks and walls are told from pages, and pages are not taken for them."""

from __future__ import annotations

import asyncio
import gzip
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from scoter.core.datum import FetchStatus
from scoter.core.reply import Exchange, Failed, Fetched, Headers, Reason, Reply, Request, fetch_status, reply_to
from scoter.core.url import canonical
from scoter.fetch.challenges import LARGEST, RecognizeChallenges, find_challenge
from scoter.fetch.queues.slots import slot_result

CLOUDFLARE = """<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body>
<div class="main-wrapper"><noscript><span id="challenge-error-text">Enable JavaScript</span></noscript></div>
<script>(function(){window._cf_chl_opt = {cRay: "8f", cType: "managed"};
var a = document.createElement("script"); a.src = "/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1";}());
</script></body></html>"""
CLOUDFLARE_BLOCK = """<html><head><title>Attention Required! | Cloudflare</title></head><body><div id="cf-wrapper">
<div id="cf-error-details" class="cf-error-details-wrapper"><h1>Sorry, you have been blocked</h1></div></div></body>"""
AKAMAI_CHECK = """<!DOCTYPE html><html><head>
<meta http-equiv="refresh" content="5; URL='/shoes?bm-verify=AAQAAAAN_____x'" /><title>&nbsp;</title></head>
<body><script>var i = 1; function go() {}</script></body></html>"""
AKAMAI_BLOCK = """<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY><H1>Access Denied</H1>
You don't have permission to access "http&#58;&#47;&#47;www&#46;shop&#46;example&#47;" on this server.<P>
Reference&#32;&#35;18&#46;2b3c4d5e&#46;1700000000&#46;6f<P>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18</P></BODY>"""
DATADOME = """<html lang="en"><head><title>shop.example</title></head><body>
<p id="cmsg">Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','host':'x'}</script>
<script src="https://ct.captcha-delivery.com/c.js"></script></body></html>"""
PERIMETERX = """<html><head><title>Access to this page has been denied</title></head><body>
<div id="px-captcha"></div><script>window._pxAppId = 'PX1234';</script><script src="/1234/captcha/c.js"></script>"""
ANUBIS = """<!doctype html><html><head><title>Making sure you&#39;re not a bot!</title>
<link rel="stylesheet" href="/.within.website/x/xess/xess.min.css"></head><body>
<script id="anubis_version" type="application/json">"1.22"</script>
<script id="anubis_challenge" type="application/json">{"rules": {"algorithm": "fast"}}</script>
<script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script></body></html>"""
AWS = """<!DOCTYPE html><html><head><title></title><script>window.awsWafCookieDomainList = [];
window.gokuProps = {"key": "k"};</script><script src="https://a1.edge.sdk.awswaf.com/a1/challenge.js"></script></head>
<body><div id="challenge-container"></div><noscript>JavaScript is disabled</noscript></body></html>"""
LOGIN = """<html><head><title>Members</title></head><body><a href="/">Home</a><h1>Please sign in</h1>
<form method="post" action="/login"><input type="hidden" name="next" value="/members/report-7">
<input name="user"><input type="password" name="secret"><button>Sign in</button></form></body></html>"""
CONSENT = """<html><head><title>Before you continue</title></head><body>
<form method="post" action="/consent/save"><p>We use cookies.</p>
<input type="hidden" name="continue" value="https://a.example/members/report-7"><button>Accept all</button></form>"""


def exchange(
    body: str | bytes, status: int = 200, headers: Headers = (), target: str = "/members/report-7"
) -> Exchange:
    return Exchange(
        url=canonical(f"https://a.example{target}"),
        started=datetime(2026, 11, 18, tzinfo=UTC),
        request_head=b"",
        response_head=b"HTTP/1.1 200 OK\r\n\r\n",
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *headers),
        body=body if isinstance(body, bytes) else body.encode(),
    )


def recognized(found: Exchange) -> Reply:
    async def ask(request: Request) -> Reply:
        return reply_to(found, found.started)

    return asyncio.run(RecognizeChallenges()(Request(url=found.url), ask))


CASES = [
    (CLOUDFLARE, 403, "Cloudflare challenge"),
    (CLOUDFLARE, 503, "Cloudflare challenge"),
    (AKAMAI_CHECK, 200, "Akamai challenge"),
    (AKAMAI_BLOCK, 403, "Akamai block"),
    (DATADOME, 403, "DataDome challenge"),
    (PERIMETERX, 403, "PerimeterX challenge"),
    (PERIMETERX, 200, "PerimeterX challenge"),
    (ANUBIS, 200, "Anubis challenge"),
    (AWS, 202, "AWS WAF challenge"),
]


@pytest.mark.parametrize(("body", "status", "detail"), CASES)
def test_challenge_is_recognized_by_its_markup(body: str, status: int, detail: str) -> None:
    reply = recognized(exchange(body, status))

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.detail) == (Reason.CHALLENGE, detail)
    assert not reply.blames_host
    assert reply.exchange is not None  # for the archive
    assert fetch_status(reply) is FetchStatus.RETRY


@pytest.mark.parametrize(
    ("status", "field", "detail"),
    [
        (403, ("CF-Mitigated", "challenge"), "Cloudflare challenge"),
        (429, ("cf-mitigated", "challenge"), "Cloudflare challenge"),
        (202, ("x-amzn-waf-action", "challenge"), "AWS WAF challenge"),
        (405, ("X-Amzn-Waf-Action", "captcha"), "AWS WAF captcha"),
        (403, ("x-dd-b", "1"), "DataDome challenge"),
    ],
)
def test_challenge_is_recognized_by_its_header(status: int, field: tuple[str, str], detail: str) -> None:
    reply = recognized(exchange("", status, (field,)))

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.detail) == (Reason.CHALLENGE, detail)


def test_block_of_cloudflare_is_recognized_only_with_its_headers() -> None:
    said = find_challenge(exchange(CLOUDFLARE_BLOCK, 403, (("CF-RAY", "8f"),)))

    assert said is not None
    assert said.detail == "Cloudflare block"
    assert find_challenge(exchange(CLOUDFLARE_BLOCK, 403)) is None


@pytest.mark.parametrize(("body", "detail"), [(LOGIN, "login wall"), (CONSENT, "consent wall")])
def test_wall_is_a_small_page_with_a_form_that_leads_back(body: str, detail: str) -> None:
    reply = recognized(exchange(body))

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.detail, reply.transient) == (Reason.WALL, detail, True)
    assert not slot_result(reply).busy


def test_compressed_challenge_is_recognized() -> None:
    body = gzip.compress(ANUBIS.encode())

    assert find_challenge(exchange(body, headers=(("Content-Encoding", "gzip"),))) is not None


def test_host_with_a_challenge_gets_a_longer_delay_but_did_not_fail() -> None:
    result = slot_result(recognized(exchange(ANUBIS)))

    assert (result.busy, result.failed) == (True, False)


def test_wait_that_the_server_asked_for_is_kept() -> None:
    reply = recognized(exchange("", 429, (("cf-mitigated", "challenge"), ("Retry-After", "120"))))

    assert isinstance(reply, Failed)
    assert reply.retry_after == timedelta(seconds=120)


_PROSE = "<p>" + "How to write about the web without being taken for a robot. " * 30 + "</p>"


@pytest.mark.parametrize("quoted", [body for body, _, _ in CASES] + [CLOUDFLARE_BLOCK, LOGIN, CONSENT])
def test_article_that_quotes_the_markup_is_a_page(quoted: str) -> None:
    quote = quoted.replace("&", "&amp;").replace("<", "&lt;")
    article = f"<html><head><title>Just a moment...</title></head><body><h1>Challenges</h1><pre>{quote}</pre></body>"
    headers = (("Server", "cloudflare"), ("CF-RAY", "8f"), ("X-DataDome", "protected"))

    assert isinstance(recognized(exchange(article, headers=headers)), Fetched)


@pytest.mark.parametrize(
    "page",
    [
        # scripts that protected sites load with every page
        f'<title>Shop</title>{_PROSE}<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>',
        f'<title>Shop</title>{_PROSE}<script src="https://js.captcha-delivery.com/tags.js"></script>',
        f"<title>Shop</title>{_PROSE}<script>window._pxAppId = 'PX1';</script><script src='/px/init.js'></script>",
        f'<title>Shop</title>{_PROSE}<script src="https://a.token.awswaf.com/a/challenge.js"></script>',
        # articles about these products
        f'<title>Anubis</title>{_PROSE}<a href="/.within.website/x/cmd/anubis">Anubis</a>',
        "<title>Making sure you're not a bot!</title><p>A song by the anubis trio.</p>",
        "<title>Just a moment...</title><p>A poem about consent</p>",
        "<title>Access Denied</title><p>Reference #18 of the edgesuite manual</p>",
        # forms on ordinary pages
        LOGIN.replace("<h1>", _PROSE + "<h1>"),
        CONSENT.replace("<p>We", "</form>" + _PROSE + '<form action="/consent/save"><p>We'),
        LOGIN.replace("/members/report-7", "/"),
        LOGIN.replace('<input type="hidden" name="next" value="/members/report-7">', ""),
        '<title>Sign in</title><form action="/login"><input name="user"><input type="password"></form>',
        "<title>News</title><div id='cookie-consent'>We use cookies <button>OK</button></div><p>Short news.</p>",
        CONSENT.replace('action="/consent/save"', 'action="/search"'),
    ],
)
def test_ordinary_page_is_no_challenge(page: str) -> None:
    assert isinstance(recognized(exchange(page)), Fetched)


def test_login_page_itself_is_a_page() -> None:
    body = LOGIN.replace("/members/report-7", "/login?next=/members")

    assert isinstance(recognized(exchange(body, target="/login?next=/members")), Fetched)


def test_other_refusals_keep_their_reason() -> None:
    assert recognized(exchange("<title>403</title>Forbidden", 403)) == reply_to(
        exchange("<title>403</title>Forbidden", 403), datetime(2026, 11, 18, tzinfo=UTC)
    )
    assert find_challenge(exchange("Not found", 404, (("cf-mitigated", "challenge"),))) is None


def test_large_pages_and_other_types_are_not_examined() -> None:
    assert find_challenge(exchange(ANUBIS + " " * LARGEST)) is None
    bomb = gzip.compress(ANUBIS.encode() + b" " * 10_000_000)
    assert find_challenge(exchange(bomb, headers=(("Content-Encoding", "gzip"),))) is None
    text = replace(exchange(ANUBIS), headers=(("Content-Type", "text/plain"),))
    assert find_challenge(text) is None
