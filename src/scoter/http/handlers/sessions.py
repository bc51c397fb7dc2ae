"""Sessions for browsers: a key is exchanged for a cookie."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Protocol

import msgspec

from scoter.http.access import KeyCheck
from scoter.http.api_keys import ApiKey
from scoter.http.asgi import NO_STORE, ApiRequest, ApiResponse
from scoter.http.problems import problem
from scoter.http.records import SessionInfo
from scoter.http.routes import HandlerResult, ResponseSpec, route
from scoter.http.sessions import LIFETIME, SessionAccess, is_behind_tls, session_cookie, session_secret


class SessionServices(Protocol):
    """What the handlers of sessions need."""

    @property
    def access(self) -> SessionAccess: ...

    @property
    def keys(self) -> KeyCheck: ...


_PATH: Final = "/v1/session"
_KEY_NEEDED: Final = problem(
    401, "key-needed", "A session requires a key.", "Send it as: Authorization: Bearer scoter_..."
)


def _key(services: SessionServices, call: ApiRequest[None]) -> tuple[ApiKey | None, datetime | None]:
    """Return the key of a request, and the end of its session if it was not sent in the Authorization header."""
    scheme, _, token = call.headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return services.keys.check(token.strip().decode("latin-1")), None
    session = services.access.sessions.find(session_secret(call.headers.get(b"cookie", b"")))
    if session is None:
        return None, None
    return services.keys.find(session.key), datetime.fromtimestamp(session.ends, UTC)


@route("GET", _PATH, {200: ResponseSpec("Who is asking.", SessionInfo)})
async def show_session(services: SessionServices, call: ApiRequest[None]) -> HandlerResult:
    """Show the name and scopes of the key or session."""
    key, ends = _key(services, call)
    return ApiResponse(msgspec.json.encode(_info(services, key, ends)), headers=NO_STORE)


def _info(services: SessionServices, key: ApiKey | None, ends: datetime | None) -> SessionInfo:
    return SessionInfo(
        name=key.name if key is not None else "",
        scopes=key.scopes if key is not None else ("read", "submit", "admin"),
        expires=ends,
        needs_key=services.access.needs_key,
    )


@route("POST", _PATH, {201: ResponseSpec("The session; Set-Cookie has its secret.", SessionInfo)})
async def open_session(services: SessionServices, call: ApiRequest[None]) -> HandlerResult:
    """Exchange the key in the Authorization header for a session cookie."""
    key, session_ends = _key(services, call)
    if key is None or session_ends is not None:
        return _KEY_NEEDED
    secret, ends = services.access.sessions.create(key.id)
    await services.access.sessions.shared()
    seconds = int(LIFETIME.total_seconds())
    cookie = session_cookie(secret, seconds=seconds, secure=is_behind_tls(dict(call.headers)))
    headers = (*NO_STORE, (b"set-cookie", cookie))
    return ApiResponse(msgspec.json.encode(_info(services, key, ends)), 201, headers=headers)


@route("DELETE", _PATH, {200: ResponseSpec("The session has ended.", SessionInfo)})
async def end_session(services: SessionServices, call: ApiRequest[None]) -> HandlerResult:
    """End the session at once, and delete the cookie."""
    key, _ = _key(services, call)
    services.access.sessions.end(session_secret(call.headers.get(b"cookie", b"")))
    await services.access.sessions.shared()
    cookie = session_cookie("", seconds=0, secure=is_behind_tls(dict(call.headers)))
    info = msgspec.structs.replace(_info(services, key, None), expires=None)
    return ApiResponse(msgspec.json.encode(info), headers=(*NO_STORE, (b"set-cookie", cookie)))
