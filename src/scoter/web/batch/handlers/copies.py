"""Archived copies of pages: as bytes that no browser runs, and as a page in a sandbox."""

from __future__ import annotations

import re
from typing import Final

from scoter.batch.readseg import SegmentEntry
from scoter.batch_api import CopyQuery
from scoter.core.reply import header
from scoter.web.asgi import ApiRequest, ApiResponse
from scoter.web.batch.handlers.crawls import CRAWL_PATH
from scoter.web.batch.handlers.results import find_entry
from scoter.web.batch.services import BatchServices
from scoter.web.problems import problem
from scoter.web.routes import HandlerResult, ResponseSpec, route

_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
_CHARSET: Final = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.ASCII | re.IGNORECASE)
_OPAQUE: Final = "application/octet-stream"
_SHOWN: Final = frozenset(
    {"text/html", "application/xhtml+xml", "text/plain", "image/png", "image/jpeg", "image/gif", "image/webp"}
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
# Shown as the site laid it out, in an origin of its own: no script, form or window, and no request to anywhere.
_SANDBOX: Final = (
    (
        b"content-security-policy",
        b"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
    ),
    *_PRIVATE,
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
    stated = _stated_type(found)
    told = ((b"scoter-content-type", stated.encode("ascii")),) if stated else ()
    fields = (*_SAFE, *_facts(found), *told)
    return ApiResponse(found.content.body, media_type=_OPAQUE.encode(), headers=fields)


@route(
    "GET",
    CRAWL_PATH + "/replay",
    {200: ResponseSpec("The archived page, for a sandboxed frame.", None, "text/html", others=sorted(_SHOWN))},
    query=CopyQuery,
    problems=(404, 409),
)
async def replay_copy(services: BatchServices, call: ApiRequest[None]) -> HandlerResult:
    """Return an archived page, text or image for display: its policy allows neither scripts nor requests."""
    found = await services.read(find_entry, services, call.path["name"], call.query, _has_copy)
    if found is None or found.content is None:
        return _NO_COPY
    stated = _stated_type(found)
    kind = stated.partition(";")[0].strip().lower()
    if kind not in _SHOWN:
        return problem(
            415, "not-shown", f"Copies of the type {kind or 'unknown'} are not shown.", "Download it instead."
        )
    charset = _CHARSET.search(stated)
    media_type = f"{kind}; charset={charset[1]}" if charset else kind
    return ApiResponse(found.content.body, media_type=media_type.encode("ascii"), headers=(*_SANDBOX, *_facts(found)))


def _stated_type(found: SegmentEntry) -> str:
    """Return the Content-Type that the site sent, if it is plausible and can be a header."""
    stated = header(found.content.headers, "Content-Type")[:200] if found.content is not None else ""
    return stated if _MEDIA_TYPE.match(stated) and stated.isascii() and stated.isprintable() else ""


def _facts(found: SegmentEntry) -> tuple[tuple[bytes, bytes], ...]:
    status = found.content.status if found.content is not None else 0
    return (b"scoter-segment", found.segment.encode("ascii", "ignore")), (b"scoter-status", b"%d" % status)


def _has_copy(entry: SegmentEntry) -> bool:
    return entry.content is not None
