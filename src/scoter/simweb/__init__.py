"""A synthetic web on one loopback port, for trials, tests and benchmarks.

It is deterministic by seed, keeps a ledger of every request, and knows the truth about each of its URLs. It shares
no code with the crawler, so that the one can be checked against the other. docs/simweb.md is its manual.

>>> with running(WebSpec(hosts=2, pages=4)) as server:
...     server.ledger.count()
0
"""

from __future__ import annotations

from .answer import Answer
from .clock import SimClock
from .export import Exported, export
from .facts import AnswerClass, Delivery, Link, Resource, Verdict
from .faultkinds import FAULTS, fault_name
from .ledger import Entry, HostSummary, Ledger
from .server import SimServer, run_forever, running, serve
from .sites import CONTROL
from .spec import WebSpec
from .truth import SETTINGS, STATUS, Fact, LinkFact, fact, truth
from .web import SimWeb

__all__ = [
    "CONTROL",
    "FAULTS",
    "SETTINGS",
    "STATUS",
    "Answer",
    "AnswerClass",
    "Delivery",
    "Entry",
    "Exported",
    "Fact",
    "HostSummary",
    "Ledger",
    "Link",
    "LinkFact",
    "Resource",
    "SimClock",
    "SimServer",
    "SimWeb",
    "Verdict",
    "WebSpec",
    "export",
    "fact",
    "fault_name",
    "run_forever",
    "running",
    "serve",
    "truth",
]
