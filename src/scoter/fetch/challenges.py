"""Recognises replies that are not the page: a challenge, a block, a login wall or a consent wall.

The products that protect sites from crawlers answer with a page of their own, often with status 200. Such a page must
not be taken for the page that was asked for. Nothing is done to get past it: the URL is retried later like one that
failed, and the host gets more time between requests.

A header field that a product sends only with such a page is enough. Otherwise a small HTML page must have an element of
the product: words do not count, since people write about these products and quote their markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scoter.compose import Service
from scoter.core.needles import Needles
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Headers, Reason, Reply, Request, header
from scoter.core.url import Url
from scoter.fetch.decode import content_codings, decode

LARGEST: Final = 32 * 1024
"""Bytes of the largest page that is examined, encoded and decoded: challenges are small."""
_STATUSES: Final = frozenset({200, 202, 401, 403, 405, 428, 429, 503})
_ACCEPTED: Final = range(200, 300)
_LITTLE_TEXT: Final = 600  # characters beside the form of a wall
_FEW_LINKS: Final = 25
_LOGIN: Final = ("login", "signin", "sign-in", "sign_in", "logon", "auth", "account", "session", "register", "signup")
# A page without any of these is no challenge.
_HINTS: Final = Needles(
    *(b"/cdn-cgi/challenge-platform/", b"_cf_chl_opt", b"cf-error-details", b"bm-verify", b"/_sec/cp_challenge/"),
    *(b"edgesuite", b"captcha-delivery.com", b"px-captcha", b"anubis", b"awswaf", b"awsWaf", b"gokuProps"),
    *(b"type=password", b'type="password', b"type='password", b"consent"),
)


class Challenge(Struct, frozen=True):
    """What was received instead of the page."""

    reason: Reason
    detail: str


class RecognizeChallenges:
    """Turns a reply that is a challenge or a wall into a failure that is not the host's fault."""

    async def __call__(self, request: Request, service: Service[Request, Reply], /) -> Reply:
        reply = await service(request)
        exchange = reply.exchange
        if exchange is None or not isinstance(reply, Fetched | Failed | Gone) or not exchange.response_head:
            return reply
        found = find_challenge(exchange)
        if found is None:
            return reply
        wait = reply.retry_after if isinstance(reply, Failed) else None
        return Failed(reply.url, found.reason, found.detail, blames_host=False, retry_after=wait, exchange=exchange)


def find_challenge(exchange: Exchange) -> Challenge | None:
    """Return what a response is instead of the page, or ``None`` if it seems to be the page."""
    status, headers = exchange.status, exchange.headers
    if status not in _STATUSES:
        return None
    said = _by_header(status, headers)
    if said:
        return Challenge(Reason.CHALLENGE, said)
    body = exchange.body
    if not body or len(body) > LARGEST or "html" not in exchange.header("content-type").lower():
        return None
    codings = content_codings(headers)
    if codings:
        body = decode(body, codings, LARGEST + 1).body
        if len(body) > LARGEST:
            return None
    if not _HINTS.occur_in(body):
        return None
    return _by_markup(exchange.url, status, headers, LexborHTMLParser(body))


def _by_header(status: int, headers: Headers) -> str:
    if header(headers, "cf-mitigated").strip().lower() == "challenge":
        return "Cloudflare challenge"
    if (action := header(headers, "x-amzn-waf-action").strip().lower()) in ("challenge", "captcha"):
        return f"AWS WAF {action}"
    # Not x-datadome, which comes with every page of a protected site.
    if status in (401, 403) and header(headers, "x-dd-b"):
        return "DataDome challenge"
    return ""


def _by_markup(url: Url, status: int, headers: Headers, tree: LexborHTMLParser) -> Challenge | None:
    for detail, is_one in _PRODUCTS:
        if is_one(status, headers, tree):
            return Challenge(Reason.CHALLENGE, detail)
    kind = _wall(url, tree) if status in _ACCEPTED else ""
    return Challenge(Reason.WALL, kind) if kind else None


def _is_cloudflare(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    # Ordinary pages may load a script from the same folder, but without these options.
    has_options = any("_cf_chl_opt" in script for script in _scripts(tree))
    return has_options and (_title(tree) == "just a moment..." or _has(tree, "#challenge-error-text, #challenge-form"))


def _is_cloudflare_block(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    is_theirs = header(headers, "server").lower() == "cloudflare" or header(headers, "cf-ray") != ""
    return status == 403 and is_theirs and _has(tree, "#cf-wrapper #cf-error-details")


def _is_akamai_check(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    refresh = tree.css_first('meta[http-equiv="refresh" i]')
    if refresh is not None and "bm-verify=" in (refresh.attributes.get("content") or ""):
        return True
    return _has(tree, 'iframe[src*="/_sec/cp_challenge/"], script[src*="/_sec/cp_challenge/"]')


def _is_akamai_block(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    text = _text(tree)
    return (
        status == 403
        and _title(tree) == "access denied"
        and len(text) < _LITTLE_TEXT
        and "Reference #" in text
        and ("errors.edgesuite.net" in text or header(headers, "server") == "AkamaiGHost")
    )


def _is_datadome(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    script, frame = 'script[src*="//ct.captcha-delivery.com/"]', 'iframe[src*="//geo.captcha-delivery.com/"]'
    return _is_bare(tree) and _has(tree, f"{script}, {frame}")


def _is_perimeterx(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    return _has(tree, "#px-captcha, #px-captcha-wrapper") and any("_pxAppId" in script for script in _scripts(tree))


def _is_anubis(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    return _has(tree, 'script#anubis_challenge[type="application/json"], script#preact_info[type="application/json"]')


def _is_aws(status: int, headers: Headers, tree: LexborHTMLParser) -> bool:
    has_props = any("awsWafCookieDomainList" in script or "gokuProps" in script for script in _scripts(tree))
    return has_props and _has(tree, 'script[src*=".awswaf.com/"]') and _is_bare(tree)


_PRODUCTS: Final[tuple[tuple[str, Callable[[int, Headers, LexborHTMLParser], bool]], ...]] = (
    ("Cloudflare challenge", _is_cloudflare),
    ("Cloudflare block", _is_cloudflare_block),
    ("Akamai challenge", _is_akamai_check),
    ("Akamai block", _is_akamai_block),
    ("DataDome challenge", _is_datadome),
    ("PerimeterX challenge", _is_perimeterx),
    ("Anubis challenge", _is_anubis),
    ("AWS WAF challenge", _is_aws),
)


def _wall(url: Url, tree: LexborHTMLParser) -> str:
    """Return which wall a page is, if it consists of little but a form that leads back to the URL itself."""
    if len(url.target) < 2 or any(word in url.target.lower() for word in _LOGIN):
        return ""  # forms often lead back to the first page, and a login page is a page like others
    for form in tree.css("form"):
        place = f"{form.attributes.get('action') or ''} {form.attributes.get('id') or ''}".lower()
        if form.css_first("input[type=password i]") is not None:
            kind = "login wall"
        elif "consent" in place and form.css_first("input[type=submit i], button") is not None:
            kind = "consent wall"
        else:
            continue
        if _leads_back(url, form) and _is_alone(tree, form):
            return kind
    return ""


def _leads_back(url: Url, form: LexborNode) -> bool:
    values = [field.attributes.get("value") or "" for field in form.css("input[type=hidden i]")]
    action = (form.attributes.get("action") or "").partition("?")[2]
    return any(unquote(each).endswith(url.target) for each in (*values, *action.split("&")))


def _is_alone(tree: LexborHTMLParser, form: LexborNode) -> bool:
    beside = len(_text(tree)) - len(form.text(separator=" ").strip())
    links = len(tree.css("a[href]")) - len(form.css("a[href]"))
    return beside < _LITTLE_TEXT and links <= _FEW_LINKS


def _is_bare(tree: LexborHTMLParser) -> bool:
    return len(_text(tree)) < _LITTLE_TEXT


def _text(tree: LexborHTMLParser) -> str:
    body = tree.body
    if body is None:
        return ""
    return " ".join(filter(None, _visible(body)))


def _visible(node: LexborNode) -> Iterator[str]:
    for each in node.traverse(include_text=True):
        parent = each.parent
        if each.tag == "-text" and (parent is None or parent.tag not in ("script", "style", "noscript", "template")):
            yield each.text(deep=False).strip()


def _title(tree: LexborHTMLParser) -> str:
    found = tree.css_first("title")
    return "" if found is None else found.text().strip().lower()


def _scripts(tree: LexborHTMLParser) -> list[str]:
    return [each.text() for each in tree.css("script:not([src])")]


def _has(tree: LexborHTMLParser, selector: str) -> bool:
    return tree.css_first(selector) is not None
