"""Percentiles that can be merged: values counted in bins whose width grows with the value.

A bin is 2 % wide, so a percentile is off by at most 1 % (as in DDSketch: Masson, Rim, Lee, 2019). A host has at most as
many bins as values, and never more than about a thousand. DuckDB's approximate quantiles would be smaller for one large
host, but each takes kilobytes even for one value, and there are millions of hosts with few pages.

In the hostdb, a bin is one number: its place times 2³² plus its count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scoter.engine.port import Rows
from scoter.engine.portable import Value, double
from scoter.plugins.recorded import ibis

WIDTH = math.log(1.02)
_SHIFT = 32
_COUNT_MASK = 2**_SHIFT - 1


def bin_of(value: Value) -> Value:
    """Return the bin of a column of values; those below 1 share the first one."""
    number = value.cast("float64")
    # Zero has no logarithm, and engines treat it differently.
    place = ((number >= 1).ifelse(number, double(1)).ln() / double(WIDTH)).floor().cast("int64") + 1
    return (number >= 1).ifelse(place, 0)


def bin_value(place: Value) -> Value:
    """Return the value that stands for a bin: its middle on the logarithmic scale."""
    middle = ((place.cast("float64") - double(0.5)) * double(WIDTH)).exp()
    return (place > 0).ifelse(middle, double(0))


def unpacked(rows: Rows, column: str, kind: str) -> Rows:
    """Return the bins of a column of the hostdb as rows: url, kind, place, number."""
    each = rows.filter(rows[column].notnull()).select("url", packed=rows[column]).unnest("packed")
    return each.select(
        "url", kind=ibis.literal(kind), place=each.packed >> _SHIFT, number=(each.packed & _COUNT_MASK).cast("int64")
    )


def merged(bins: Rows, kinds: Sequence[str], percentiles: Sequence[int]) -> Rows:
    """Return one row per host: for each kind its bins, packed, and the bin of each percentile.

    The columns are ``KIND_bins`` and ``KIND_pN``; they are null for a host without values of the kind.
    """
    summed = bins.group_by(["url", "kind", "place"]).agg(number=bins.number.sum())
    before = ibis.cumulative_window(group_by=[summed.url, summed.kind], order_by=summed.place)
    counted = summed.mutate(
        upto=summed.number.sum().over(before),
        total=summed.number.sum().over(group_by=[summed.url, summed.kind]),
        packed=(summed.place << _SHIFT) + summed.number,
    )
    columns = {}
    for kind in kinds:
        is_kind = counted.kind == kind
        columns[f"{kind}_bins"] = counted.packed.collect(where=is_kind)
        for each in percentiles:
            is_beyond = counted.upto.cast("float64") * 100 >= counted.total.cast("float64") * each
            columns[f"{kind}_p{each}"] = counted.place.min(where=is_kind & is_beyond)
    found = counted.group_by("url").agg(**columns)
    return found.mutate(
        **{f"{kind}_bins": (found[f"{kind}_bins"].length() > 0).ifelse(found[f"{kind}_bins"], None) for kind in kinds}
    )


def summary(numbers: Mapping[str, Value], percentiles: Mapping[str, Value]) -> Value:
    """Return a map of numbers and percentiles by name; the bins of percentiles become values between min and max."""
    values = {
        name: ibis.least(ibis.greatest(bin_value(place), numbers["min"]), numbers["max"])
        for name, place in percentiles.items()
    }
    every = {**numbers, **values}
    return ibis.map(ibis.array(list(every)), ibis.array([each.cast("float64").round(3) for each in every.values()]))
