"""The rule files of the adaptive schedules: rates by media type, bounds by host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from scoter.core.rule_lines import host_name, rule_lines, shown
from scoter.core.schedule import Bounds, Rates
from scoter.errors import RuleError


def parse_rates(lines: Iterable[str], source: str) -> Mapping[str, Rates]:
    """Read ``media type, rate of growth, rate of shrinking`` a line, divided by tabs or spaces.

    >>> parse_rates(["text/html\\t0.4\\t0.2"], "rates.txt")
    {'text/html': Rates(longer=0.4, shorter=0.2)}
    """
    found: dict[str, Rates] = {}
    for number, text in rule_lines(lines):
        media_type, longer, shorter = _three(text, "a media type and two rates", source, number)
        rates = Rates(*(_number(each, source, number) for each in (longer, shorter)))
        if "/" not in media_type or not (0 <= rates.longer <= 10 and 0 <= rates.shorter <= 1):
            raise RuleError(
                f"{shown(text)} is not a media type and two rates",
                file=source,
                line=number,
                hint="A line is: text/html 0.4 0.2 (growth from 0 to 10, shrinking from 0 to 1).",
            )
        found[media_type.lower()] = rates
    return found


def parse_bounds(lines: Iterable[str], source: str, usual: Bounds | None = None) -> Mapping[str, Bounds]:
    """Read ``host, shortest interval, longest interval`` a line, in seconds; ``default`` or 0 is the usual one.

    >>> parse_bounds(["example.org 60 3600"], "hosts.txt")["example.org"].high
    datetime.timedelta(seconds=3600)
    """
    found: dict[str, Bounds] = {}
    usual = usual or Bounds()
    for number, text in rule_lines(lines):
        host, low, high = _three(text, "a host and two intervals", source, number)
        told = ((low, usual.low), (high, usual.high))
        seconds = [_interval(each, otherwise, source, number) for each, otherwise in told]
        if not 0 < seconds[0] <= seconds[1] < 2**31:
            raise RuleError(
                f"{shown(text)} has intervals that are not in order",
                file=source,
                line=number,
                hint="A line is: example.org 60 86400 (the shortest and the longest interval in seconds, or default).",
            )
        found[host_name(host, source, number)] = Bounds(*(timedelta(seconds=each) for each in seconds))
    return found


def _three(text: str, expected: str, source: str, line: int) -> list[str]:
    words = text.split()
    if len(words) != 3:
        raise RuleError(f"{shown(text)} is not {expected}", file=source, line=line)
    return words


def _interval(text: str, usual: timedelta, source: str, line: int) -> float:
    seconds = 0.0 if text.lower() == "default" else _number(text, source, line)
    return seconds or usual.total_seconds()


def _number(text: str, source: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise RuleError(f"{shown(text)} is not a number", file=source, line=line) from None
