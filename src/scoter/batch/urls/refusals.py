"""Refusals that a setting decides: marked in the crawldb, so that a corrected setting is tried again, and explained.

A worker notes in the metadata of a URL why it was refused, or its page truncated, and a digest of the settings that
decided it. ``generate`` takes URLs whose digest is not that of the present settings as due. ``refusals.json`` lists the
digests that the crawl has used: while there is one per reason, no record needs to be looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

import msgspec
import xxhash
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import Config
from scoter.core.addresses import is_metadata
from scoter.core.display import size
from scoter.core.page import EMPTY
from scoter.core.reply import Reason
from scoter.core.url import canonical
from scoter.errors import typed
from scoter.fetch.network.allowed_hosts import is_private
from scoter.store.tables.local import storage_at

REFUSED: Final = "_refused_"
"""Metadata key of a refusal; an empty text means none."""
TRUNCATED: Final = "truncated"
"""The reason in the mark of a page that was longer than ``fetch.content_limit``."""
REFUSALS_FILE: Final = "refusals.json"
FOR_OWN_HOSTS: Final = "http.robot_rules_allowlist"
FILTERED: Final = "filtered"
"""The reason of URLs that the URL filters drop from a fetch list."""
_MOST: Final = 200
_LARGER: Final = 10
_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    Reason.REFUSED_PORT.value: ("fetch.allow_ports", "fetch.allow_hosts"),
    Reason.REFUSED_ADDRESS.value: (
        *("fetch.allow_networks", "fetch.allow_hosts", "fetch.connect_to"),
        *("http.proxy_host", "http.proxy_exception_list"),
    ),
    Reason.REFUSED_SCHEME.value: ("fetch.protocols",),
    Reason.ROBOTS_DENIED.value: ("agent.name", "http.robots_agents", "http.robot_rules_allowlist"),
    Reason.CRAWL_DELAY.value: ("fetch.long_crawl_delay", "fetch.max_crawl_delay"),
    TRUNCATED: ("fetch.content_limit",),
}
"""The settings that decide each refusal, the usual one first."""
_ADDRESS: Final = re.compile(r" resolves to ([0-9a-fA-F.:]+), which is not public")


def refusal_marks(config: Config) -> Mapping[str, str]:
    """Return the mark of each reason under the settings of a configuration."""
    return {
        reason: f"{reason}:{xxhash.xxh32_hexdigest(repr([_value(config, name) for name in names]).encode())}"
        for reason, names in _SETTINGS.items()
    }


def is_outdated(metadata: Mapping[str, str], config: Config) -> bool:
    """Return whether a URL was refused under other settings than these."""
    mark = (metadata or EMPTY).get(REFUSED, "")
    return bool(mark) and mark not in refusal_marks(config).values()


def note_settings(crawl: CrawlDir, config: Config) -> frozenset[str]:
    """Record that a crawl uses a configuration; return its marks if records may have others, else an empty set."""
    place = storage_at(crawl.path)
    try:
        known = msgspec.json.decode(place.read(REFUSALS_FILE) or b"[]", type=list[str])
    except msgspec.DecodeError:  # damaged: look at the records
        known = ["unknown"]
    marks = sorted(refusal_marks(config).values())
    new = [mark for mark in marks if mark not in known]
    if new:
        known = [*known, *new][-_MOST:]
        place.replace(REFUSALS_FILE, msgspec.json.encode(known) + b"\n")
    return frozenset(marks) if len(known) > len(marks) else frozenset()


class Remedy(Struct, frozen=True):
    """What would allow a refused URL: a setting, and the words of a crawl's command line that change it."""

    setting: str
    words: tuple[str, ...] = ()

    def command(self, directory: object) -> str:
        """Return a command to copy, or an empty text."""
        return f"scoter crawl {typed(directory, *self.words)}" if self.words else ""


def remedy(reason: str, url: str, detail: str, config: Config) -> Remedy | None:
    """Return what would allow a URL, or ``None`` if no setting decided about it."""
    if reason not in _SETTINGS:
        return None
    setting = _SETTINGS[reason][0]
    found = canonical(url)
    match reason:
        case Reason.REFUSED_PORT:
            return Remedy("fetch.allow_hosts", (url,))
        case Reason.REFUSED_ADDRESS if is_private(found.host):
            return Remedy("fetch.allow_networks") if "metadata" in detail else Remedy("fetch.allow_hosts", (url,))
        case Reason.REFUSED_ADDRESS:
            address = _ADDRESS.search(detail)
            if address is None or is_metadata(ip_address(address[1])):
                return Remedy(setting)
            return _added(setting, address[1], config)
        case Reason.REFUSED_SCHEME:
            return _added(setting, found.scheme, config) if found.scheme in ("ftp", "file") else Remedy(setting)
        case Reason.ROBOTS_DENIED:  # no command for hosts that may be another's
            return _added(FOR_OWN_HOSTS, found.host, config) if is_private(found.host) else Remedy(FOR_OWN_HOSTS)
        case Reason.CRAWL_DELAY:
            return Remedy(setting, ("-D", f"{setting}=wait"))
        case "truncated":
            limit = config.fetch.content_limit
            wanted = "off" if limit is None else size(_LARGER * limit).replace(" ", "")
            return Remedy(setting, ("-D", f"{setting}={wanted}"))
        case _:
            return Remedy(setting)


def _added(name: str, entry: str, config: Config) -> Remedy:
    value = json.dumps([*map(str, _value(config, name)), entry])
    return Remedy(name, ("-D", f"{name}={value}"))


def _value(config: Config, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(config, section), key)
