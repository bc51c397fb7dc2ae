"""A synthetic web on one loopback port, for demos, tests and benchmarks.

It is deterministic for a given seed, logs every request in a ledger, and knows the expected result for each of its
URLs. It shares no code with the crawler, so that each can be checked against the other. See docs/simweb.md.

>>> with running(WebSpec(hosts=2, pages=4)) as server:
...     server.ledger.count()
0

- ``spec``               the specification of a web
- ``web``                the web as a pure description: the response of every URL
- ``sites``              the hosts: names, sizes, profiles, faults
- ``pages``              the numbered pages of each host
- ``extra_pages``        dead links, redirects, members' pages, crawler traps
- ``special_resources``  special resources of hosts without faults
- ``faults``             the resources of hosts with faults
- ``robots``             the robots.txt files and their verdicts, written by hand
- ``robotsfile``         the robots.txt of each host as a resource
- ``formats``            writes HTML, feeds, sitemaps, images and a PDF
- ``prose``              generates text in seven languages
- ``rng``                deterministic pseudo-random numbers
- ``facts``              the description of one URL
- ``truth``              the status that each URL must have after a complete crawl
- ``responses``          status, headers and body, and how they are sent
- ``connection``         the state of a server, and one HTTP connection to it
- ``server``             serves a web on one port
- ``control``            the control host: a JSON API to inspect the web
- ``ledger``             the log of all requests
- ``clock``              simulated time
- ``export``             exports the static part for nginx
"""

from __future__ import annotations

from scoter.simweb.clock import SimClock
from scoter.simweb.connection import SimServer
from scoter.simweb.export import StaticExport, export
from scoter.simweb.facts import AnswerClass, Resource, SimLink, SimVerdict, WireBehaviour
from scoter.simweb.ledger import HostSummary, LoggedRequest, SimLedger
from scoter.simweb.responses import SimResponse
from scoter.simweb.server import run_forever, running, serve
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
