"""What kind of web is asked for: the one record from which everything else follows."""

from __future__ import annotations

from typing import Any

import msgspec

from scoter.errors import UsageError

# name: (lowest, highest) value accepted, both included.
_RANGES: dict[str, tuple[float, float]] = {
    "seed": (0, 2**63 - 1),
    "hosts": (1, 200_000),
    "pages": (1, 1_000_000_000),
    "links": (0, 200),
    "page_bytes": (500, 1_000_000),
    "changing": (0.0, 1.0),
    "trap_size": (0, 1_000_000),
    "sessions": (0, 10_000),
    "nesting": (1, 20_000),
    "latency": (0.0, 60.0),
    "drip_seconds": (0.0, 600.0),
    "silence_seconds": (0.1, 3600.0),
}
_WHOLE = frozenset({"seed", "hosts", "pages", "links", "page_bytes", "trap_size", "sessions", "nesting"})


class WebSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The size and the temper of a synthetic web; equal specs give equal webs, byte for byte.

    ``pages`` counts the ordinary numbered pages. The special resources (redirects, feeds, images, the trap
    and so on) come on top of them.
    """

    seed: int = 1
    hosts: int = 20
    pages: int = 500
    faults: bool = False
    #: Links of a page to pages drawn by Zipf's law, on top of those that make all pages reachable.
    links: int = 10
    #: The mean size of an ordinary page's body.
    page_bytes: int = 8192
    #: The share of ordinary pages that change as simulated time passes.
    changing: float = 0.3
    #: The number of pages in the calendar trap.
    trap_size: int = 40
    #: The number of session ids under which the one shop page is linked.
    sessions: int = 6
    #: How deep the tags of the nested page go.
    nesting: int = 2000
    #: Seconds the server waits before each answer, so that concurrent requests overlap in the ledger.
    latency: float = 0.0
    #: How long the slow drip takes (with ``faults``).
    drip_seconds: float = 2.0
    #: After how long a host that never answers closes the connection all the same (with ``faults``).
    silence_seconds: float = 300.0

    def __post_init__(self) -> None:
        if not isinstance(self.faults, bool):
            raise UsageError(f"faults={self.faults!r} is not accepted: it is true or false", where="simweb")
        for name, (low, high) in _RANGES.items():
            value: Any = getattr(self, name)
            whole = name in _WHOLE
            kind_fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            # The comparison is written so that NaN fails it too.
            if not (kind_fits and low <= value <= high):
                noun = "a whole number" if whole else "a number"
                raise UsageError(
                    f"{name}={value!r} is not accepted: it is {noun} from {low:g} to {high:g}",
                    where="simweb",
                )
        if self.pages < self.hosts:
            raise UsageError(
                f"pages={self.pages} is fewer than hosts={self.hosts}: every host has at least its front page",
                where="simweb",
                hint=f"Ask for at least {self.hosts} pages, or for fewer hosts.",
            )
