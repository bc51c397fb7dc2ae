"""How a client is told that the service is not there, or will not.

UserError
└── ClientError      the service refused, or its answer is not understood
    └── Unreachable  no answer came
"""

from __future__ import annotations

import os
from typing import Final

from scoter.client.records import Problem
from scoter.errors import UserError

_HINTS: Final = {
    401: "Give a valid key with --key or in SCOTER_KEY.",
    403: "Ask for a key with the scope that this needs.",
    421: "Ask for the service as 127.0.0.1, or show a key.",
}
_NOT_OURS: Final = "Is it a Scoter service that answers there? Name another with --server or SCOTER_SERVER."


class ClientError(UserError):
    """The service did not do what was asked; ``problem`` has its own words."""

    def __init__(self, problem: Problem, *, where: str = "", hint: str = "") -> None:
        self.problem = problem
        said = [problem.title.strip() or f"HTTP status {problem.status}", problem.detail.strip()]
        if problem.where:
            said.append(f"(at {problem.where})")
        if not hint and problem.retry_after is not None:
            hint = f"Come again in {problem.retry_after:.0f} s."
        hint = hint or _HINTS.get(problem.status, "" if problem.title.strip() else _NOT_OURS)
        super().__init__(" ".join(filter(None, said)), where=where, hint=hint)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may well succeed later."""
        return self.problem.status in (0, 408, 429, 500, 502, 503, 504)


class Unreachable(ClientError):
    """There is no service, or it went away in the middle of an answer."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            Problem(title="The service does not answer:", detail=why),
            where=url,
            hint="Start one with `scoter serve`, or name another with --server or SCOTER_SERVER.",
        )


def reason(error: Exception) -> str:
    """Return why a connection failed, in the system's words: asyncio has others for some."""
    if isinstance(error, ConnectionError) and error.errno:
        return os.strerror(error.errno)
    said = error.strerror if isinstance(error, OSError) else ""
    return said or str(error) or type(error).__name__


def not_understood(url: str, why: str, status: int = 200) -> ClientError:
    """Return the error for an answer that no service of ours gives."""
    return ClientError(
        Problem(title="The answer is not that of a Scoter service:", detail=why, status=status),
        where=url,
        hint="Is it the right address?",
    )
