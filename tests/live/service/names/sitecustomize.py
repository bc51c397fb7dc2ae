"""Replaces DNS by a table of names, in every Python process with this folder on its path.

The table is the JSON file in NAMES_TABLE. It is read for each query, so a test changes a name by writing the file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from scoter.fetch.network import resolver
from scoter.fetch.network.resolver import Answer, NotResolved, Resolved


def _table() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(Path(os.environ["NAMES_TABLE"]).read_text())
    return found


async def _resolve(self: resolver.DnsResolver, host: str) -> Answer:
    addresses = _table().get(host)
    return Resolved(tuple(addresses), 0.0) if addresses else NotResolved("no such name", transient=False)


if "NAMES_TABLE" in os.environ:  # not when pytest imports this for doctests
    resolver.DnsResolver.resolve = _resolve  # type: ignore[method-assign]
