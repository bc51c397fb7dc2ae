"""A synthetic web on one loopback port, for demos, tests and benchmarks.

It is deterministic for a given seed, logs every request in a ledger, and knows the expected result for each of its
URLs. It shares no code with the crawler, so that each can be checked against the other. See docs/simweb.md.

>>> with running(WebSpec(hosts=2, pages=4)) as server:
...     server.ledger.count()
0
"""

from __future__ import annotations

from scoter.simweb.clock import SimClock
from scoter.simweb.export import StaticExport, export
from scoter.simweb.facts import AnswerClass, Resource, SimLink, SimVerdict, WireBehaviour
from scoter.simweb.ledger import HostSummary, LoggedRequest, SimLedger
from scoter.simweb.responses import SimResponse
from scoter.simweb.server import SimServer, run_forever, running, serve
from scoter.simweb.sites import CONTROL, FAULTS, fault_name
from scoter.simweb.spec import WebSpec
from scoter.simweb.truth import SETTINGS, STATUS, Fact, LinkFact, fact, truth
from scoter.simweb.web import SimWeb

__all__ = [
    "CONTROL",
    "FAULTS",
    "SETTINGS",
    "STATUS",
    "AnswerClass",
    "Fact",
    "HostSummary",
    "LinkFact",
    "LoggedRequest",
    "Resource",
    "SimClock",
    "SimLedger",
    "SimLink",
    "SimResponse",
    "SimServer",
    "SimVerdict",
    "SimWeb",
    "StaticExport",
    "WebSpec",
    "WireBehaviour",
    "export",
    "fact",
    "fault_name",
    "run_forever",
    "running",
    "serve",
    "truth",
]
