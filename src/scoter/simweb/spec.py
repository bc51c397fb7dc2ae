"""The specification of a synthetic web."""

from __future__ import annotations

from typing import Any

import msgspec

from scoter.errors import UsageError

# name: lowest and highest accepted value; integers, unless these are not.
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


class WebSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Size and properties of a synthetic web; equal specs produce identical webs, byte for byte.

    ``pages`` counts ordinary numbered pages. Special resources (redirects, feeds, images, traps and so on) are extra.
    """

    seed: int = 1
    hosts: int = 20
    pages: int = 500
    faults: bool = False
    #: Links per page to pages drawn by Zipf's law, besides those that make all pages reachable.
    links: int = 10
    #: Mean size of an ordinary page.
    page_bytes: int = 8192
    #: Share of ordinary pages that change as simulated time passes.
    changing: float = 0.3
    #: Pages of the calendar trap.
    trap_size: int = 40
    #: Session ids under which the shop page is linked.
    sessions: int = 6
    #: Depth of the nested page.
    nesting: int = 2000
    #: Seconds before each response, so that concurrent requests overlap in the ledger.
    latency: float = 0.0
    #: Duration of the slow drip (with ``faults``).
    drip_seconds: float = 2.0
    #: Time after which the silent host closes the connection (with ``faults``).
    silence_seconds: float = 300.0

    def __post_init__(self) -> None:
        if not isinstance(self.faults, bool):
            raise UsageError(f"faults={self.faults!r} is invalid: it must be true or false", where="simweb")
        for name, (low, high) in _RANGES.items():
            value: Any = getattr(self, name)
            whole = isinstance(low, int)
            kind_fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            # Written so that NaN fails too.
            if not (kind_fits and low <= value <= high):
                noun = "an integer" if whole else "a number"
                raise UsageError(
                    f"{name}={value!r} is invalid: it must be {noun} from {low:g} to {high:g}",
                    where="simweb",
                )
        if self.pages < self.hosts:
            raise UsageError(
                f"pages={self.pages} is less than hosts={self.hosts}: every host needs a front page",
                where="simweb",
                hint=f"Use at least {self.hosts} pages, or fewer hosts.",
            )
