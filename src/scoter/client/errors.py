"""Errors of the client: the service is unreachable, or refuses a request.

UserError
└── ClientError      the service refused the request, or its answer is not understood
    └── Unreachable  no answer
"""

from __future__ import annotations

import os
from typing import Final

from scoter.errors import UserError
from scoter.http.records import Problem

_HINTS: Final = {
    401: "Pass a valid key with --key or in SCOTER_KEY.",
    403: "Use a key with the required scope.",
    421: "Address the service as 127.0.0.1, or pass a key.",
}
_NOT_OURS: Final = "Check that a Scoter service listens there, or choose another with --server or SCOTER_SERVER."


def local_problem(title: str = "", detail: str = "", *, status: int = 0, kind: str = "about:blank") -> Problem:
    """Return a problem that the service did not describe itself; ``status`` is 0 if there was no answer."""
    return Problem(type=kind, title=title, status=status, detail=detail)


class ClientError(UserError):
    """The service refused a request; ``problem`` is its own description."""

    def __init__(self, problem: Problem, *, where: str = "", hint: str = "") -> None:
        self.problem = problem
        title = problem.title.strip()
        said = [title or f"HTTP status {problem.status}", problem.detail.strip()]
        if problem.where:
            said.append(f"(at {problem.where})")
        if not hint and problem.retry_after is not None:
            hint = f"Retry in {problem.retry_after:.0f} s."
        hint = hint or _HINTS.get(problem.status, "" if title else _NOT_OURS)
        super().__init__(" ".join(filter(None, said)), where=where, hint=hint)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.problem.status in (0, 408, 429, 500, 502, 503, 504)


class Unreachable(ClientError):
    """There is no service, or its connection broke before the answer was complete."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            local_problem("The service does not answer:", why),
            where=url,
            hint="Start one with `scoter serve`, or choose another with --server or SCOTER_SERVER.",
        )


def failure_reason(error: Exception) -> str:
    """Return why a connection failed, as the system words it: asyncio rephrases some errors."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    said = error.strerror if isinstance(error, OSError) else ""
    return said or str(error) or type(error).__name__


def not_understood(url: str, why: str) -> ClientError:
    """Return the error for an answer that no Scoter service gives."""
    return ClientError(
        local_problem("The answer is not from a Scoter service:", why, status=200), where=url, hint="Check the address."
    )
