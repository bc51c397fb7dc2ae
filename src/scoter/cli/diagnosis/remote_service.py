"""Checks of a service that runs, over HTTP: what it says about itself, as the recommended alerts judge it."""

from __future__ import annotations

import http.client
import re
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec
from msgspec import Struct

from scoter.cli.diagnosis.findings import Findings
from scoter.client.address import ServiceAddress, parse_address
from scoter.core.display import duration, size

_API: Final = "1"
_WITHIN: Final = 15.0
_SKEW: Final = 5.0  # seconds by which clocks may differ
_WAITED: Final = 600.0
_LOG: Final = "docs/operations.md, Troubleshooting"
_SAMPLE: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class _Answer(Struct, frozen=True):
    status: int
    body: str
    date: str


class _OpenApi(Struct, frozen=True):
    info: Mapping[str, str]


class Scrape:
    """The samples of ``/metrics``."""

    def __init__(self, text: str) -> None:
        self._values: dict[str, list[tuple[str, float]]] = {}
        for name, labels, value in _SAMPLE.findall(text):
            self._values.setdefault(name, []).append((labels, float(value)))

    def most(self, name: str) -> float | None:
        """Return the greatest value of a metric; ``None`` if it has none."""
        return max((value for _, value in self._values.get(name, ())), default=None)

    def labels_with(self, name: str, wanted: Callable[[float], bool]) -> list[str]:
        """Return the labels of the samples whose value is wanted."""
        return [labels for labels, value in self._values.get(name, ()) if wanted(value)]


def check_running(
    findings: Findings, url: str, key: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> None:
    """Check a live service, or the server of crawls, at an address."""
    address = parse_address(url)
    try:
        health = _get(address, "/healthz", key)
    except (OSError, http.client.HTTPException) as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
        remedy = "Check the address, that the service runs, and the proxy before it."
        findings.fault("service", f"{address}: {why}", remedy)
        return
    if health.status != 200:
        findings.fault("service", f"/healthz is {health.status}", f"See the log of the service; {_LOG}.")
        return
    _check_version(findings, address, key)
    _check_clock(findings, health.date, now())
    ready = _get(address, "/readyz", key)
    if ready.status == 200:
        findings.ok("ready", "it accepts messages and jobs")
    else:
        findings.fault("ready", f"/readyz is {ready.status}: {_title(ready.body)}", f"See {_LOG}.")
    scrape = _get(address, "/metrics", key)
    if scrape.status == 200:
        check_metrics(findings, Scrape(scrape.body))
    else:
        remedy = "Give a key with the scope read: --key, or SCOTER_KEY."
        findings.fault("metrics", f"/metrics is {scrape.status}: {_title(scrape.body)}", remedy)


def _check_version(findings: Findings, address: ServiceAddress, key: str) -> None:
    try:
        api = msgspec.json.decode(_get(address, "/v1/openapi.json", key).body, type=_OpenApi).info
        found = f"{address} is {api['title']}, version {api['version']} of the API"
    except (msgspec.DecodeError, KeyError):
        findings.fault("service", f"{address} is not a service of Scoter", "Check the address.")
        return
    if api["version"] != _API:
        findings.fault("service", f"{found}; this is version {_API}", "Use the same version of Scoter on both sides.")
    else:
        findings.ok("service", found)


def _check_clock(findings: Findings, date: str, now: datetime) -> None:
    try:
        ahead = (now - parsedate_to_datetime(date)).total_seconds()
    except ValueError:
        return  # a proxy may leave it out
    if abs(ahead) > _SKEW:
        direction = "ahead of" if ahead > 0 else "behind"
        found = f"this machine is {duration(abs(ahead))} {direction} the service"
        findings.fault("clocks", found, "Set both clocks with NTP.")
    else:
        findings.ok("clocks", "this machine and the service agree")


def check_metrics(findings: Findings, scrape: Scrape) -> None:
    """Judge what a service has measured, as ``deploy/prometheus/alerts.yaml`` does."""
    before = len(findings.all)
    free, floor = scrape.most("scoter_disk_free_bytes"), scrape.most("scoter_disk_floor_bytes")
    if free is not None and floor is not None and free < 2 * floor:
        found = f"{size(int(free))} free, near store.disk_floor ({size(int(floor))})"
        findings.fault("disk of the service", found, f"Make room; {_LOG}.")
    if scrape.most("scoter_store_damaged"):
        findings.fault("database", "it is damaged", "Restore a backup: docs/operations.md, Backups.")
    oldest = scrape.most("scoter_journal_oldest_seconds")
    if oldest is not None and oldest > _WAITED:
        findings.fault("queue", f"a URL has been waiting for {duration(oldest)}", f"See {_LOG}.")
    for roles in scrape.labels_with("scoter_processes", lambda value: value == 0):
        findings.fault("processes", f"none runs: {roles}", "Start it with: scoter serve --role.")
    if letters := scrape.most("scoter_dead_letters"):
        remedy = "Upgrade the process that could not read them; docs/live-cluster.md, Operation."
        findings.fault("dead letters", f"{letters:.0f} messages could not be read", remedy)
    skew = scrape.most("scoter_clock_skew_seconds")
    if skew is not None and abs(skew) > 2:
        findings.fault("clocks", f"that of the service differs from Cassandra's by {skew:g} s", "Set it with NTP.")
    if len(findings.all) == before:
        findings.ok("metrics", "none is beyond what is recommended")


def _title(body: str) -> str:
    """Return what a problem says."""
    try:
        found = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.DecodeError:
        return body[:100] or "no text"
    return str(found.get("title") or found.get("detail") or body[:100])


def _get(address: ServiceAddress, path: str, key: str) -> _Answer:
    connection: http.client.HTTPConnection
    if address.scheme == "https":
        secure = ssl.create_default_context()
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=_WITHIN, context=secure)
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_WITHIN)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        connection.request("GET", address.prefix + path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
        return _Answer(answer.status, body, answer.getheader("Date") or "")
    finally:
        connection.close()
