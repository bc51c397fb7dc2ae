"""Search servers for tests: the application in this process, and a real process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.index.indexes import document, write
from tests.live.api.client import Client

from scoter.core.document import Document
from scoter.core.page import PageSection
from scoter.sitesearch.gate import PublicRules
from scoter.sitesearch.hits import AddressMap
from scoter.sitesearch.open_index import OpenIndex
from scoter.sitesearch.server import SearchServer

GUIDE = replace(
    document(
        "http://docs.test/guide.html",
        "Guide",
        "Guide\n🦭 Welcome, keeper.\nCare\nThey are easy to keep.\nThe coat\nMoulting takes six weeks.\nFood\nHerring.",
    ),
    sections=(PageSection(2, "Care", "care"), PageSection(3, "The coat", "coat"), PageSection(2, "Food", "food")),
)
PAGES = (
    GUIDE,
    document("http://docs.test/seals.html", "Grey seals", "Grey seals rest on the sand banks & sleep <deeply> there."),
    document("http://docs.test/walrus.html", "The walrus", "A walrus is larger than any of the seals."),
    document("http://docs.test/gulls.html", "Gulls", "Gulls follow the fishing boats into the harbour."),
)


def make_index(folder: Path, pages: Iterable[Document] = PAGES, **options: Any) -> Path:
    write(folder, *pages, **options)
    return folder / "index"


def client_of(
    index: OpenIndex | Path,
    *,
    origins: tuple[str, ...] = (),
    rate: float = 1000.0,
    only_local: bool = False,
    proxies: tuple[str, ...] = (),
    addresses: tuple[tuple[str, str], ...] = (),
    clock: Callable[[], float] | None = None,
) -> Client:
    """Return a client of a server, which checks answers against its OpenAPI document."""
    opened = OpenIndex(index) if isinstance(index, Path) else index
    rules = PublicRules(origins=frozenset(origins), rate=rate, only_local=only_local)
    server = SearchServer(opened, rules, addresses=AddressMap(addresses), proxies=proxies, clock=clock)
    return Client(server.app, json.loads(server.openapi), (("Host", "search.test"),))
