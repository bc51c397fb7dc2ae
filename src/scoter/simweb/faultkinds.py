"""The kinds of fault, one host each, and what these hosts are like apart from their fault."""

from __future__ import annotations

from .robots import SHUT, RobotsKind
from .sites import SHUT_LINKED, Habits

#: Faults of robots.txt: the whole host is concerned.
ROBOTS_FAULTS: dict[str, RobotsKind] = {
    "robots-500": RobotsKind.SERVER_ERROR,
    "robots-429": RobotsKind.BUSY,
    "robots-unreachable": RobotsKind.HANG_UP,
    "robots-huge": RobotsKind.HUGE,
    "robots-long-delay": RobotsKind.LONG_DELAY,
}

#: Faults of single resources.
ANSWER_FAULTS: tuple[str, ...] = (
    "redirect-loop",
    "redirect-long",
    "redirect-private",
    "forbidden",
    "busy",
    "overloaded",
    "server-error",
    "reset",
    "truncated",
    "drip",
    "silent",
    "chunking",
    "header-flood",
    "bomb",
    "overlong",
    "mistyped",
    "empty",
)

FAULTS: tuple[str, ...] = (*ROBOTS_FAULTS, *ANSWER_FAULTS)


def fault_name(fault: str) -> str:
    """The name of the host that shows a fault; each has a domain of its own, so that none slows another.

    >>> fault_name("reset")
    'www.reset-fault.test'
    """
    return f"www.{fault}-fault.test"


def fault_habits(fault: str) -> Habits:
    """English, UTF-8, and nothing unusual but the fault."""
    return Habits(robots=ROBOTS_FAULTS.get(fault, RobotsKind.ABSENT))


def fault_size(fault: str) -> int:
    """How many ordinary pages stand beside the fault."""
    return SHUT_LINKED if ROBOTS_FAULTS.get(fault) in SHUT else 1
