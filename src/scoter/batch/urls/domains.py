"""Hosts of URLs and their registered domains, as columns."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from scoter.core.domain import registered_domain
from scoter.engine import Engine
from scoter.engine.port import Rows

_DOMAINS = pa.schema([("host", pa.utf8()), ("domain", pa.utf8())])
_HOST = r"^[a-z][a-z0-9+.-]*://(\[[^\]]*\]|[^/:?#]*)"
_HOST_PATTERN = re.compile(_HOST)


def host_domains(engine: Engine, rows: Rows) -> Rows:
    """Return the distinct values of a column ``host``, each with its registered domain."""
    return engine.map_batches(rows.select("host").distinct(), _domains, _DOMAINS)


def host_of(url: Any) -> Any:
    """Return the hosts of a column of canonical URLs."""
    return url.re_extract(_HOST, 1)


def host_in(url: str) -> str:
    """Return the host of a canonical URL.

    >>> host_in("http://example.org:8080/a"), host_in("file:///a")
    ('example.org', '')
    """
    found = _HOST_PATTERN.match(url)
    return found[1] if found else ""


def _domains(batch: Any) -> Any:
    hosts = batch.column("host")
    return pa.RecordBatch.from_arrays(
        [hosts, pa.array(map(registered_domain, hosts.to_pylist()), pa.utf8())], schema=_DOMAINS
    )
