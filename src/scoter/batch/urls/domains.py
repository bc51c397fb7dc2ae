"""Hosts of URLs and their registered domains, as columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoter.core.domain import registered_domain, reversed_host
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


def host_keys(hosts: Any) -> Any:
    """Return the keys of an array of hosts: what ``reversed_host`` returns for each, in a quarter of the time."""
    if isinstance(hosts, pa.ChunkedArray):
        hosts = hosts.combine_chunks()
    # Addresses, and a few names that look like one.
    is_special = pc.match_substring_regex(hosts, r"[0-9.\]]$|:|^\[")
    labels = pc.split_pattern(hosts, ".")
    ends = labels.offsets.to_numpy()
    lengths = np.diff(ends)
    places = np.repeat(ends[:-1] + ends[1:] - 1, lengths) - np.arange(ends[0], ends[-1])
    reversed_labels = pa.ListArray.from_arrays(
        pa.array(ends - ends[0], pa.int32()), labels.values.take(pa.array(places))
    )
    keys = pc.binary_join(reversed_labels, ",")
    special = np.flatnonzero(is_special.to_numpy(zero_copy_only=False))
    if not len(special):
        return keys
    found = pa.array(map(reversed_host, hosts.take(pa.array(special)).to_pylist()), pa.utf8())
    return pc.replace_with_mask(keys, is_special, found)


def _domains(batch: Any) -> Any:
    hosts = batch.column("host")
    return pa.RecordBatch.from_arrays(
        [hosts, pa.array(map(registered_domain, hosts.to_pylist()), pa.utf8())], schema=_DOMAINS
    )
