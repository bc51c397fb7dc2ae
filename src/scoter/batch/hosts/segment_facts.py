"""What segments say about every host: requests and failures, bytes, times, servers, and where homepages redirect to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.schemas import TIME
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.hosts.crawldb_facts import save_hosts
from scoter.batch.hosts.histograms import bin_of
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import Value
from scoter.plugins.recorded import ibis

_COLUMNS = (
    *("url", "host", "status", "fetch_time", "http_status", "reason", "redirect_to", "length", "response_ms"),
    *("ip", "server", "tls"),
)
_MEASURES = {"latency": "response_ms", "size": "length"}
_CONNECTION = ("unreachable", "timeout", "tls", "reset", "malformed")
MEASURE_SUMS = tuple(f"{kind}_{name}" for kind in _MEASURES for name in ("min", "max", "sum", "count"))
HOST_FETCHES = pa.schema(
    [
        *schemas.texts("url", "key"),
        *((name, pa.int64()) for name in (*schemas.FETCH_COUNTS, *MEASURE_SUMS)),
        *((name, TIME) for name in ("first_fetch", "last_fetch", "last_answer", "last_unresolved")),
        *schemas.texts("ip", "server", "tls"),
    ]
)
HOST_BINS = pa.schema([*schemas.texts("url", "key", "kind"), ("place", pa.int64()), ("number", pa.int64())])
CHAINS = pa.schema([*schemas.texts("url", "key", "source"), ("chain", pa.list_(pa.utf8()))])
_MOST_HOPS = 5


def fetch_rows(engine: Engine, segments: Sequence[Segment]) -> Rows:
    """Return the requests of segments."""
    rows = engine.read(source_of(SegmentSources(segments).fetch, _COLUMNS))
    return rows.filter(rows.host.notnull() & (rows.host != "") & (rows.status != schemas.DEFERRED))


def save_fetches(engine: Engine, rows: Rows, file: Path) -> TableSource:
    """Save the requests of each host, counted, and what its newest answer says about its server."""
    code, reason = rows.http_status.fill_null(0), rows.reason.fill_null("")
    is_answer = code > 0
    counts = {
        "fetches": rows.count(),
        "answers": _count(is_answer),
        "client_errors": _count((code >= 400) & (code < 500)),
        "server_errors": _count(code >= 500),
        "timeouts": _count(reason == "timeout"),
        "connection_failures": _count(reason.isin(_CONNECTION)),
        "robots_denied": _count(reason == "robots_denied"),
        "bytes": rows.length.fill_null(0).sum(),
    }
    sums: dict[str, Value] = {}
    for kind, name in _MEASURES.items():
        value = rows[name].cast("int64")
        sums |= {f"{kind}_min": value.min(), f"{kind}_max": value.max(), f"{kind}_sum": value.sum()}
        sums[f"{kind}_count"] = value.count()
    # A failure that a retry may cure says little about the name: it may be our own name server that failed.
    is_unresolved = (reason == "unresolved") & (rows.status == "gone")
    times = {
        "first_fetch": rows.fetch_time.min(),
        "last_fetch": rows.fetch_time.max(),
        "last_answer": rows.fetch_time.max(where=is_answer),
        "last_unresolved": rows.fetch_time.max(where=is_unresolved),
    }
    newest = {name: rows[name].argmax(rows.fetch_time, where=rows[name].notnull()) for name in ("ip", "server", "tls")}
    return save_hosts(engine, rows.group_by("host").agg(**counts, **sums, **times, **newest), HOST_FETCHES, file)


def save_bins(engine: Engine, rows: Rows, file: Path) -> TableSource:
    """Save the response times and sizes of each host, in bins."""
    each = [
        rows.filter(rows[name].notnull()).select("host", kind=ibis.literal(kind), place=bin_of(rows[name]))
        for kind, name in _MEASURES.items()
    ]
    values = ibis.union(*each)
    return save_hosts(engine, values.group_by(["host", "kind", "place"]).agg(number=values.count()), HOST_BINS, file)


def save_chains(engine: Engine, rows: Rows, file: Path) -> TableSource:
    """Save the redirect chains that start at root URLs."""
    moved = rows.filter(rows.redirect_to.notnull() & (rows.redirect_to != rows.url))
    moves = moved.group_by("url").agg(target=moved.redirect_to.argmax(moved.fetch_time))
    is_root = (moved.url == ibis.literal("https://") + moved.host + "/") | (
        moved.url == ibis.literal("http://") + moved.host + "/"
    )
    chain = moved.filter(is_root).select("host", source="url").distinct()
    chain = chain.mutate(hop0=chain.source)
    for number in range(_MOST_HOPS):
        at, to = f"at{number}", f"hop{number + 1}"
        hops = moves.select(**{at: moves.url, to: moves.target}).view()
        joined = chain.left_join(hops, chain[f"hop{number}"] == hops[at])
        chain = joined.select(*chain.columns, to)
    hops = ibis.array([chain[f"hop{number}"] for number in range(_MOST_HOPS + 1)])
    found = chain.select("host", "source", chain=hops.filter(lambda each: each.notnull()))
    return save_hosts(engine, found, CHAINS, file)


def _count(condition: Value) -> Value:
    return condition.ifelse(1, 0).sum()
