"""The files of the search box, and how they are served."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Final

from scoter.http.asgi import ApiResponse, App, HeaderFields, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, refusal

BOX: Final = "search-box.js"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_PAGE_FIELDS: Final = ((b"content-security-policy", _POLICY.encode()), (b"referrer-policy", b"no-referrer"))
# The script may be used by every page: what it may read, the gate decides.
_SCRIPT_FIELDS: Final = (
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)
_FILES: Final[dict[bytes, tuple[str, bytes, HeaderFields]]] = {
    b"/": ("server.html", b"text/html; charset=utf-8", _PAGE_FIELDS),
    b"/page.css": ("page.css", b"text/css; charset=utf-8", ()),
    b"/page.js": ("page.js", b"text/javascript; charset=utf-8", ()),
    b"/search-box.js": (BOX, b"text/javascript; charset=utf-8", _SCRIPT_FIELDS),
}
_METHODS: Final = ("GET", "HEAD")


def box_file(name: str) -> bytes:
    """Return one of the files."""
    return (files("scoter.sitesearch") / "static" / name).read_bytes()


class BoxFiles:
    """Answers with the files of the box, and passes everything else on to the API."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._files = {
            path: ApiResponse(
                body,
                media_type=kind,
                headers=(
                    *fields,
                    (b"cache-control", b"public, max-age=300"),
                    (b"etag", b'"%s"' % sha256(body).hexdigest()[:20].encode()),
                ),
            )
            for path, (name, kind, fields) in _FILES.items()
            for body in (box_file(name),)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._files.get(scope["raw_path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
        elif scope["method"] not in _METHODS:
            detail = problem(405, "method", "The path does not support this method.")
            await send_reply(send, refusal(detail, _METHODS))
        elif dict(scope["headers"]).get(b"if-none-match") == dict(found.headers)[b"etag"]:
            await send_reply(send, ApiResponse(status=304, headers=found.headers))
        else:
            await send_reply(send, found)
