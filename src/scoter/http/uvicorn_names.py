"""What ``protocol`` uses of uvicorn beyond its documented interface, in one place.

uvicorn has no setting for most of the limits of ``protocol``, so that module extends uvicorn's own protocol. A version
of uvicorn that lacks one of these names cannot be used: ``tests/http/test_uvicorn_names.py`` says which.
"""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = ["CYCLE", "PROTOCOL", "UNFINISHED", "HttpToolsProtocol", "RequestResponseCycle"]

PROTOCOL: Final = frozenset(
    {
        # called by asyncio and by the parser, and extended
        *("connection_made", "connection_lost", "pause_writing", "resume_writing"),
        *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"),
        # called by uvicorn, and extended
        *("on_response_complete", "send_400_response", "timeout_keep_alive_handler"),
        # the connection: its application may be replaced, its logger is
        *("app", "connections", "flow", "logger", "loop", "server_state", "transport"),
        *("timeout_keep_alive", "timeout_keep_alive_task", "_unset_keepalive_if_required"),
        # the request that is being received, the newest, and those that wait for its response
        *("cycle", "expect_100_continue", "headers", "parser", "pipeline", "url"),
    }
)
"""Names of ``HttpToolsProtocol``."""

CYCLE: Final = frozenset({"disconnected", "message_event", "more_body", "response_complete", "response_started"})
"""Names of ``RequestResponseCycle``, a request and its response."""

UNFINISHED: Final = "ASGI callable returned without completing response."
"""What uvicorn logs about a response that the application did not finish."""
