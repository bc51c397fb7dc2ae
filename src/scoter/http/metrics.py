"""Metrics in the Prometheus text format (0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol, Self, TypeAlias

from msgspec import Struct

from scoter.errors import Unavailable

Labels: TypeAlias = tuple[str, ...]
Buckets: TypeAlias = tuple[list[int], float]
"""The number of durations in each bucket, and their sum."""

MEDIA_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MAX_SERIES: Final = 1_000
_OTHER: Final = "other"


class Metric(Protocol):
    """Something with lines in the text format."""

    @property
    def name(self) -> str: ...

    @property
    def help_text(self) -> str: ...

    def lines(self) -> Iterator[str]: ...


class Counter(Struct):
    """A counter. Beyond a bound, new combinations of labels are counted together."""

    name: str
    help_text: str
    labels: Labels = ()
    values: dict[Labels, float] = {}
    most: int = MAX_SERIES

    def __post_init__(self) -> None:
        if not self.labels:
            self.values[()] = 0.0

    def expect(self, *values: str) -> Self:
        """Start with 0 for values of the only label: the rate of a counter does not show what is counted first."""
        self.values.update({(value,): self.values.get((value,), 0.0) for value in values})
        return self

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Increase the counter of a combination of labels."""
        if labels not in self.values and len(self.values) >= self.most:
            labels = (_OTHER,) * len(self.labels)
        self.values[labels] = self.values.get(labels, 0.0) + by

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "counter")
        for labels, value in self.values.items():
            yield f"{self.name}{_braces(zip(self.labels, labels, strict=True))} {_number(value)}"


class Gauge(Struct):
    """Values by labels, which are set."""

    name: str
    help_text: str
    labels: Labels
    values: dict[Labels, float] = {}

    def set(self, *labels: str, value: float) -> None:
        """Set the value of a combination of labels."""
        self.values[labels] = value

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "gauge")
        for labels, value in self.values.items():
            yield f"{self.name}{_braces(zip(self.labels, labels, strict=True))} {_number(value)}"


class Reading(Struct, frozen=True):
    """A value that is read on demand, or one for each value of a label. A name in ``_total`` makes it a counter."""

    name: str
    help_text: str
    ask: Callable[[], float | Mapping[str, float]]
    label: str = ""

    @property
    def labels(self) -> Labels:
        return (self.label,) if self.label else ()

    def values(self) -> Mapping[Labels, float]:
        """Return the current values by their labels; none if they cannot be read, as from a damaged database."""
        try:
            found = self.ask()
        except Unavailable:
            return {}
        return {(of,): value for of, value in found.items()} if isinstance(found, Mapping) else {(): found}

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "counter" if self.name.endswith("_total") else "gauge")
        for labels, value in self.values().items():
            yield f"{self.name}{_braces(zip(self.labels, labels, strict=True))} {_number(value)}"


class Histogram(Struct):
    """Durations in buckets, by one label."""

    name: str
    help_text: str
    label: str
    bounds: tuple[float, ...] = BOUNDS
    _buckets: dict[str, list[int]] = {}
    _sums: dict[str, float] = {}

    def observe(self, label: str, seconds: float) -> None:
        """Record one duration."""
        buckets = self._buckets.get(label)
        if buckets is None:
            if len(self._buckets) >= MAX_SERIES:
                label = _OTHER
            buckets = self._buckets.setdefault(label, [0] * (len(self.bounds) + 1))
        buckets[bisect_left(self.bounds, seconds)] += 1
        self._sums[label] = self._sums.get(label, 0.0) + seconds

    def buckets(self) -> Mapping[str, Buckets]:
        """Return the buckets by label, for ``add``."""
        return {label: (buckets, self._sums[label]) for label, buckets in self._buckets.items()}

    def add(self, others: Mapping[str, Buckets]) -> None:
        """Add the buckets of a histogram with the same bounds."""
        for label, (more, total) in others.items():
            buckets = self._buckets.setdefault(label, [0] * (len(self.bounds) + 1))
            for at, count in enumerate(more):
                buckets[at] += count
            self._sums[label] = self._sums.get(label, 0.0) + total

    def labels(self) -> Sequence[str]:
        return list(self._buckets)

    def count(self, label: str) -> int:
        return sum(self._buckets[label])

    def within(self, label: str, share: float) -> float | None:
        """Return the smallest bound that covers a share of the durations; ``None`` if it is beyond the last bound."""
        return share_within(self.bounds, self._buckets[label], share)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.help_text, "histogram")
        for label, buckets in self._buckets.items():
            total = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), buckets, strict=True):
                total += count
                yield f"{self.name}_bucket{_braces([(self.label, label), ('le', bound)])} {total}"
            yield f"{self.name}_sum{_braces([(self.label, label)])} {_number(self._sums[label])}"
            yield f"{self.name}_count{_braces([(self.label, label)])} {total}"


def share_within(bounds: Sequence[float], buckets: Sequence[int], share: float) -> float | None:
    """Return the smallest bound that covers a share of the durations; ``None`` if it is beyond the last bound."""
    wanted, seen = share * sum(buckets), 0
    for bound, count in zip(bounds, buckets, strict=False):
        seen += count
        if seen >= wanted:
            return bound
    return None


def render(metrics: Iterable[Metric]) -> bytes:
    """Return metrics in the Prometheus text format."""
    return "".join(f"{line}\n" for metric in metrics for line in metric.lines()).encode()


def _head(name: str, help_text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inner}}}" if inner else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
