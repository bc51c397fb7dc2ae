"""Serves the files of the web interface in front of an API."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, Literal

from msgspec import Struct

from scoter.http.asgi import ApiResponse, App, HeaderFields, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, refusal

# Scripts and styles come from files of this server only, and no text can become markup or script. A frame shows
# archived copies, which have a policy of their own.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_FIELDS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
_TYPES: Final = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_METHODS: Final = ("GET", "HEAD")


class StaticFile(Struct, frozen=True):
    """A file as it is sent."""

    body: bytes
    media_type: bytes
    etag: bytes

    def reply(self, headers: dict[bytes, bytes]) -> ApiResponse:
        """Return the file, or 304 if the browser has it."""
        fields: HeaderFields = (*_FIELDS, (b"etag", self.etag))
        if self.etag in (each.strip() for each in headers.get(b"if-none-match", b"").split(b",")):
            return ApiResponse(status=304, headers=fields)
        return ApiResponse(self.body, media_type=self.media_type, headers=fields)


class Pages:
    """Answers ``/`` and ``/ui/…`` with the files of the interface, and passes on everything else to the API.

    The files are public: they hold nothing about crawls, and the page that asks for a key is one of them.
    """

    def __init__(self, app: App, service: Literal["batch", "live"]) -> None:
        self._app = app
        self._files = page_files(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["raw_path"] if scope["type"] == "http" else b""
        if path != b"/" and not path.startswith(b"/ui/"):
            await self._app(scope, receive, send)
            return
        await send_reply(send, self._reply(path, scope))

    def _reply(self, path: bytes, scope: Scope) -> ApiResponse:
        found = self._files.get(path.decode("latin-1"))
        if found is None:
            return refusal(problem(404, "not-found", "There is no such page."))
        if scope["method"] not in _METHODS:
            return refusal(problem(405, "method", "The path does not support this method."), _METHODS)
        return found.reply(dict(scope["headers"]))


def page_files(service: str) -> dict[str, StaticFile]:
    """Return the files of the interface by their paths."""
    root = files("scoter.ui") / "static"
    found = {f"/ui/{name}": file.read_bytes() for name, file in _walk(root, "")}
    found["/"] = found.pop("/ui/index.html").replace(b"SERVICE", service.encode(), 1)
    return {path: _static_file(path, body) for path, body in found.items()}


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in folder.iterdir():
        name = prefix + each.name
        if each.is_dir():
            found += _walk(each, f"{name}/")
        elif name.rpartition(".")[2] in _TYPES:
            found.append((name, each))
    return found


def _static_file(path: str, body: bytes) -> StaticFile:
    kind = "html" if path == "/" else path.rpartition(".")[2]
    return StaticFile(body, _TYPES[kind], b'"%s"' % sha256(body).hexdigest()[:20].encode())
