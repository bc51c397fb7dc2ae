"""A datum as a row of a table, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from scoter.core.datum import EPOCH, CrawlDatum, DbStatus, FetchStatus, PartStatus, short_name
from scoter.core.page import EMPTY
from scoter.core.url import Url

DB = {short_name(status): status for status in DbStatus}
FETCH: Mapping[str, FetchStatus | PartStatus] = {
    **{short_name(status): status for status in FetchStatus},
    short_name(PartStatus.PARSE_FAILED): PartStatus.PARSE_FAILED,
    short_name(PartStatus.LINKED): PartStatus.LINKED,
}


def url_of(row: Mapping[str, Any]) -> Url:
    """Return a row's URL, without parsing it again."""
    return Url(row["url"], row["key"], row["host"])


def datum_of(
    row: Mapping[str, Any], statuses: Mapping[str, Any] = DB, extra: Sequence[str] = (), prefix: str = ""
) -> CrawlDatum:
    """Return the datum of a row; ``extra`` names the plug-ins' columns, ``prefix`` stands before every column."""
    return CrawlDatum(
        status=statuses[row[prefix + "status"]],
        fetch_time=row[prefix + "fetch_time"] or EPOCH,
        modified_time=row[prefix + "modified_time"],
        retries=row[prefix + "retries"] or 0,
        interval=timedelta(seconds=row[prefix + "interval"] or 0),
        score=row[prefix + "score"] or 0.0,
        signature=row[prefix + "signature"],
        metadata=dict(row[prefix + "metadata"] or ()) or EMPTY,
        extra=present({name: row[prefix + name] for name in extra}),
    )


def row_of(url: Url, datum: CrawlDatum, extra: Iterable[str] = ()) -> dict[str, Any]:
    """Return the row of a datum."""
    return {
        "url": url.text,
        "key": url.key,
        "host": url.host,
        "status": short_name(datum.status),
        "fetch_time": datum.fetch_time,
        "modified_time": datum.modified_time,
        "retries": datum.retries,
        "interval": int(datum.interval.total_seconds()),
        "score": datum.score,
        "signature": datum.signature,
        "metadata": list(datum.metadata.items()) or None,
        **{name: datum.extra.get(name) for name in extra},
    }


def present(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that are there."""
    found = {name: value for name, value in values.items() if value is not None}
    return found or EMPTY
