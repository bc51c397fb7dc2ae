"""What the crawldb says about every host: counts by status, its homepage, and statistics of metadata.

Hosts are grouped by values of fixed size only, because engines cannot move texts that they aggregate to disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.hosts.histograms import bin_of
from scoter.batch.urls.chains import UrlChains, rewrite_urls, url_changes
from scoter.batch.urls.domains import host_keys
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.engine.portable import Value
from scoter.plugins.recorded import Recorded, ibis, real

PAGES = ("fetched", "notmodified")
_MOVED = ("redir_temp", "redir_perm")
_ROOTS = ("https_page", "http_page", "https_moved", "http_moved")
HOST_COUNTS = pa.schema(
    [
        *schemas.texts("url", "key"),
        *((name, pa.int64()) for name in ("urls", *schemas.STATUS_COUNTS)),
        *((name, pa.int32()) for name in _ROOTS),
    ]
)
FIELD_BINS = pa.schema(
    [
        *schemas.texts("url", "key", "kind"),
        *((name, pa.int64()) for name in ("place", "number")),
        *((name, pa.float64()) for name in ("least", "most", "total")),
    ]
)
FIELD_VALUES = pa.schema([*schemas.texts("url", "key", "field", "value"), ("number", pa.int64())])


def crawldb_rows(engine: Engine, source: TableSource, chains: UrlChains) -> Rows:
    """Return the URLs of hosts, changed and filtered by the chains."""
    rows = engine.read(source)
    if chains.filters or chains.normalizers:
        rows = rewrite_urls(rows, url_changes(engine, rows, chains), derived={"host": "its_host"})
    return rows.filter(rows.host.notnull() & (rows.host != ""))


def save_counts(engine: Engine, rows: Rows, file: Path) -> TableSource:
    """Save the number of URLs of each host by status, and which of its root URLs are pages or redirects."""
    counts = {name: _number(rows.status == name).sum() for name in schemas.STATUS_COUNTS}
    roots = {}
    for scheme in ("https", "http"):
        is_root = rows.url == ibis.literal(f"{scheme}://") + rows.host + "/"
        for kind, statuses in (("page", (*PAGES, "duplicate")), ("moved", _MOVED)):
            roots[f"{scheme}_{kind}"] = _number(is_root & rows.status.isin(statuses)).max()
    found = rows.group_by("host").agg(urls=rows.count(), **counts, **roots)
    return save_hosts(engine, found, HOST_COUNTS, file)


def root_url(counts: Rows) -> Value:
    """Return the root URL of a host that is a page or a redirect, null if there is none; pages and https first."""
    cases = [
        (counts[name] > 0, ibis.literal(f"{name.partition('_')[0]}://") + counts.url + ibis.literal("/"))
        for name in _ROOTS
    ]
    return ibis.cases(*cases, else_=ibis.literal(None, "string"))


def save_field_bins(engine: Engine, rows: Rows, fields: Sequence[str], file: Path) -> TableSource:
    """Save the values of numeric metadata, in bins; ``kind`` is the field's name."""
    each = []
    for field in fields:
        value = rows.metadata.get(field).try_cast("float64")
        found = rows.select("host", kind=ibis.literal(field), value=value)
        each.append(found.filter(found.value.notnull() & (found.value.abs() <= ibis.literal(1e300))))
    values = ibis.union(*each)
    binned = values.mutate(place=bin_of(values.value))
    value = binned.value
    grouped = binned.group_by(["host", "kind", "place"]).agg(
        number=binned.count(), least=value.min(), most=value.max(), total=value.sum()
    )
    return save_hosts(engine, grouped, FIELD_BINS, file)


def save_field_values(engine: Engine, rows: Rows, fields: Sequence[str], file: Path) -> TableSource:
    """Save how often each value of textual metadata occurs."""
    each = []
    for field in fields:
        found = rows.select("host", field=ibis.literal(field), value=rows.metadata.get(field))
        each.append(found.filter(found.value.notnull() & (found.value != "")))
    values = ibis.union(*each)
    counted = values.group_by(["host", "field", "value"]).agg(number=values.count())
    return save_hosts(engine, counted, FIELD_VALUES, file)


def save_hosts(engine: Engine, rows: Rows, schema: Any, file: Path) -> TableSource:
    """Save rows that have a column ``host``, with ``url`` and ``key`` instead, in the order of the hostdb."""
    given = pa.schema([("host", pa.utf8()), *(field for field in schema if field.name not in ("url", "key"))])
    columns = {field.name: _cast(rows[field.name], field.type) for field in given}
    keyed = engine.map_batches(rows.select(**columns), partial(_keyed, schema), schema)
    engine.save(keyed, schema, file, ("key", "url"), is_temporary=True)
    return replace(file_source(file, schema), is_sorted=True)


def _keyed(schema: Any, batch: Any) -> Any:
    hosts = batch.column("host")
    known: Mapping[str, Any] = {
        **{name: batch.column(name) for name in batch.schema.names},
        "url": hosts,
        "key": host_keys(hosts),
    }
    return pa.RecordBatch.from_arrays([known[field.name].cast(field.type) for field in schema], schema=schema)


def _cast(value: Value, kind: Any) -> Value:
    wanted = ibis.dtype(kind)
    return value.cast(wanted if type(value) is Recorded else real(wanted))  # Spark's rows are not recorded


def _number(condition: Value) -> Value:
    return condition.ifelse(1, 0)
