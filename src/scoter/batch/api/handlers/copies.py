"""Archived copies of pages: as bytes that no browser runs, and as a page in a sandbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import urlencode

import msgspec

from scoter.batch.api.archived_copies import ArchivedCopy, find_copy
from scoter.batch.api.handlers.crawls import CRAWL_PATH
from scoter.batch.api.handlers.results import find_entry
from scoter.batch.api.records import CopyHeaders, CopyQuery, HeaderField, ReplayQuery
from scoter.batch.api.replay import MISSING_IMAGE, CopyRewriter, missing_page
from scoter.batch.api.services import BatchServices
from scoter.batch.jobs.readseg import ArchivedContent, SegmentEntry
from scoter.core.reply import header
from scoter.http.asgi import ApiRequest, ApiResponse, HeaderFields
from scoter.http.problems import problem
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.parse.encoding import decode_page
from scoter.parse.mediatype import parse_content_type

_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
_OPAQUE: Final = "application/octet-stream"
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_SHOWN: Final = _PAGES | {"text/plain", "text/css"}
_IMAGES: Final = frozenset(
    f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "bmp", "svg+xml", "x-icon", "vnd.microsoft.icon")
)
_FONTS: Final = frozenset(
    {"font/woff", "font/woff2", "font/ttf", "font/otf", "application/font-woff", "application/font-woff2"}
)
_PRIVATE: Final = (
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"private, no-store"),
)
# A copy comes from a stranger: nothing in it may run, and no browser may take it for something else.
_SAFE: Final = (
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"content-disposition", b"attachment"),
    *_PRIVATE,
)
# Shown as the site laid it out, in an origin of its own: no script, form or window, and requests to this server only,
# where the rewritten addresses lead. Whatever was not rewritten is stopped here.
_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline' 'self'; img-src data: 'self'; font-src data: 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'"
)
# An SVG is a document whose addresses are not rewritten: it may not request anything, not even from this server.
_ALONE: Final = (
    b"content-security-policy",
    b"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'",
)
_SVG: Final = "image/svg+xml"
_SANDBOX: Final = (
    (b"content-security-policy", f"{_POLICY}; frame-ancestors 'self'".encode()),
    (b"x-dns-prefetch-control", b"off"),
    *_PRIVATE,
)
# The sandbox is another origin, so this is allowed to others: the ticket in the address is what protects it.
_LINKED: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-dns-prefetch-control", b"off"),
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"private, no-store"),
)
_LINKED_PATH: Final = "/v1/replays"
_OTHERS: Final = sorted((_SHOWN | _IMAGES | _FONTS) - {"text/html"})
_NO_TICKET: Final = problem(
    401, "no-ticket", "This address is no longer valid.", "Open the archived copy again in the web interface."
)
_NO_COPY: Final = problem(404, "no-copy", "The crawl has no archived copy of this URL.")


@route(
    "GET",
    CRAWL_PATH + "/copy",
    {200: ResponseSpec("The archived body, as an attachment.", None, _OPAQUE)},
    query=CopyQuery,
    problems=(404, 409),
)
async def show_copy(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the archived copy of a URL, with its content coding removed, as bytes that no browser runs."""
    found = await services.read(find_entry, services, call.path["name"], call.query, _has_copy)
    if found is None or found.content is None:
        return _NO_COPY
    stated = _stated_type(found.content)
    told = ((b"scoter-content-type", stated.encode("ascii")),) if stated else ()
    fields = (*_SAFE, *_facts(found.segment, found.content), *told)
    return ApiResponse(found.content.body, media_type=_OPAQUE.encode(), headers=fields)


@route(
    "GET",
    CRAWL_PATH + "/headers",
    {200: ResponseSpec("The header fields.", CopyHeaders)},
    query=CopyQuery,
    problems=(404, 409),
)
async def show_headers(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return the status and the header fields of the archived copy of a URL."""
    found = await services.read(find_entry, services, call.path["name"], call.query, _has_copy)
    if found is None or found.content is None:
        return _NO_COPY
    fields = [HeaderField(name, value) for name, value in found.content.headers]
    made = CopyHeaders(url=found.url, segment=found.segment, status=found.content.status, fields=fields)
    return ApiResponse(msgspec.json.encode(made))


@route(
    "GET",
    CRAWL_PATH + "/replay",
    {200: ResponseSpec("The archived page, for a sandboxed frame.", None, "text/html", others=_OTHERS)},
    query=CopyQuery,
    problems=(404, 409, 415),
)
async def replay_copy(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return an archived page for display: it cannot run scripts, and its links and resources are archived copies."""
    query: CopyQuery = call.query
    name = call.path["name"]
    crawl = services.folder.crawl(name)
    find = partial(find_copy, crawl, services.config(name), query.url, segment=query.segment)
    found = await services.read(find)
    if found is None:
        return _NO_COPY
    ticket = services.tickets.issue(name, call.headers)
    return await services.read(_shown, found, ticket, _SANDBOX)


@route(
    "GET",
    _LINKED_PATH + "/{ticket}",
    {
        200: ResponseSpec("The archived page, style, image or font.", None, "text/html", others=_OTHERS),
        404: ResponseSpec("What is shown in its place.", None, "text/html", others=("image/svg+xml", "text/plain")),
    },
    query=ReplayQuery,
    problems=(401, 409, 415, 429),
    scope=None,
)
async def replay_linked(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return what a replayed page links to or contains; the ticket in its address stands for a key."""
    query: ReplayQuery = call.query
    ticket = call.path["ticket"]
    name, decision = services.tickets.admit(ticket, services.access)
    if name is None:
        return _NO_TICKET
    if decision.refusal is not None:
        return decision.refusal
    crawl = services.folder.crawl(name)
    found = await services.read(partial(find_copy, crawl, services.config(name), query.url, near=query.near))
    if found is None:
        return _missing(query.url, call.headers)
    return await services.read(_shown, found, ticket, _LINKED)


def _shown(found: ArchivedCopy, ticket: str, policy: HeaderFields) -> HandlerResult:
    """Return a copy with its own type, rewritten if it has addresses."""
    stated = _stated_type(found.content)
    kind, charset = parse_content_type(stated)
    body, media_type = found.content.body, kind
    if kind not in _SHOWN | _IMAGES | _FONTS:
        return problem(
            415, "not-shown", f"Copies of the type {kind or 'unknown'} are not shown.", "Download it instead."
        )
    if kind in _SHOWN:
        text = decode_page(body, charset, markup=kind in _PAGES).utf8
        rewriter = CopyRewriter(found.url, partial(_linked_address, ticket, found.segment))
        if kind in _PAGES:
            rewritten = rewriter.page(text, _banner(found))
            if rewritten is None:
                return problem(
                    415, "not-shown", "The page is too complex to be shown.", "Show its source, or download it."
                )
            # XHTML was parsed as HTML, so it is sent as HTML.
            body, kind = rewritten, "text/html"
        elif kind == "text/css":
            body = rewriter.stylesheet(text.decode()).encode()
        else:
            body = text
        media_type = f"{kind}; charset=utf-8"
    if kind == _SVG:
        policy = (_ALONE, *(field for field in policy if field[0] != _ALONE[0]))
    headers = (*policy, *_facts(found.segment, found.content), (b"scoter-url", found.url.encode("ascii", "replace")))
    return ApiResponse(body, media_type=media_type.encode("ascii"), headers=headers)


def _linked_address(ticket: str, segment: str, url: str) -> str:
    return f"{_LINKED_PATH}/{ticket}?{urlencode({'url': url, 'near': segment})}"


def _banner(found: ArchivedCopy) -> str:
    when = f", fetched {found.fetched:%Y-%m-%d %H:%M} UTC" if found.fetched is not None else ""
    return f"Archived copy of {found.url}{when}. Links and images lead to other archived copies."


def _missing(url: str, headers: Mapping[bytes, bytes]) -> ApiResponse:
    """Return what stands for something that was not archived, in the form that the browser wants."""
    wanted = headers.get(b"sec-fetch-dest", b"document")
    if wanted == b"image":
        return ApiResponse(MISSING_IMAGE, 404, media_type=b"image/svg+xml", headers=_LINKED)
    is_page = wanted in (b"document", b"iframe", b"frame")
    body = missing_page(url) if is_page else b""
    return ApiResponse(body, 404, media_type=b"text/html; charset=utf-8" if is_page else b"text/plain", headers=_LINKED)


def _stated_type(content: ArchivedContent) -> str:
    """Return the Content-Type that the site sent, if it is plausible and can be a header."""
    stated = header(content.headers, "Content-Type")[:200]
    return stated if _MEDIA_TYPE.match(stated) and stated.isascii() and stated.isprintable() else ""


def _facts(segment: str, content: ArchivedContent) -> HeaderFields:
    return (b"scoter-segment", segment.encode("ascii", "ignore")), (b"scoter-status", b"%d" % content.status)


def _has_copy(entry: SegmentEntry) -> bool:
    return entry.content is not None
