"""Counters, gauges and histograms, and their text for Prometheus (format 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

Labels: TypeAlias = tuple[str, ...]
Sorted: TypeAlias = tuple[list[int], float]
"""How many durations fell into each bucket, and their sum."""

MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SERIES: Final = 1_000
_OTHER: Final = "other"


class Metric(Protocol):
    """Something that has lines to show."""

    def lines(self) -> Iterator[str]: ...


class Counter:
    """Counts up. Beyond a bound, new combinations of labels are counted as one."""

    def __init__(self, name: str, told: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.told = told
        self._labels = tuple(labels)
        self.values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count one more, or ``by``."""
        if labels not in self.values and len(self.values) >= MOST_SERIES:
            labels = (_OTHER,) * len(self._labels)
        self.values[labels] = self.values.get(labels, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "counter")
        for labels, value in self.values.items():
            yield f"{self.name}{_braces(zip(self._labels, labels, strict=True))} {_number(value)}"


class Gauge:
    """Shows what is the case when it is asked."""

    def __init__(self, name: str, told: str, label: str, ask: Callable[[], Mapping[str, float]]) -> None:
        self.name = name
        self.told = told
        self._label = label
        self.ask = ask

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "gauge")
        for value_of, value in self.ask().items():
            labels = [(self._label, value_of)] if self._label else []
            yield f"{self.name}{_braces(labels)} {_number(value)}"


class Histogram:
    """Sorts durations into buckets, by one label."""

    def __init__(self, name: str, told: str, label: str, bounds: Sequence[float] = BOUNDS) -> None:
        self.name = name
        self.told = told
        self._label = label
        self._bounds = tuple(bounds)
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, label: str, seconds: float) -> None:
        """Note one duration."""
        buckets = self._buckets.get(label)
        if buckets is None:
            if len(self._buckets) >= MOST_SERIES:
                label = _OTHER
            buckets = self._buckets.setdefault(label, [0] * (len(self._bounds) + 1))
        buckets[bisect_left(self._bounds, seconds)] += 1
        self._sums[label] = self._sums.get(label, 0.0) + seconds

    def sorted(self) -> Mapping[str, Sorted]:
        """Return all of it by label, for ``add``."""
        return {label: (buckets, self._sums[label]) for label, buckets in self._buckets.items()}

    def add(self, sorted_elsewhere: Mapping[str, Sorted]) -> None:
        """Add what another of the same bounds has sorted."""
        for label, (more, total) in sorted_elsewhere.items():
            buckets = self._buckets.setdefault(label, [0] * (len(self._bounds) + 1))
            for at, count in enumerate(more):
                buckets[at] += count
            self._sums[label] = self._sums.get(label, 0.0) + total

    def labels(self) -> Sequence[str]:
        return list(self._buckets)

    def count(self, label: str) -> int:
        return sum(self._buckets[label])

    def within(self, label: str, share: float) -> float | None:
        """Return the least bound that so great a share stayed within; none where that is beyond the last bound."""
        buckets = self._buckets[label]
        wanted, seen = share * sum(buckets), 0
        for bound, count in zip(self._bounds, buckets, strict=False):
            seen += count
            if seen >= wanted:
                return bound
        return None

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.told, "histogram")
        for label, buckets in self._buckets.items():
            total = 0
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), buckets, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces([(self._label, label), ('le', bound)])} {total}"
            yield f"{self.name}_sum{_braces([(self._label, label)])} {_number(self._sums[label])}"
            yield f"{self.name}_count{_braces([(self._label, label)])} {total}"


def render(metrics: Iterable[Metric]) -> bytes:
    """Return metrics as Prometheus reads them."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines()).encode()


def _head(name: str, told: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
