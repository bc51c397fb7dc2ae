"""Targets of a benchmark, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Target(NamedTuple):
    """A figure, its target, and whether it was met."""

    name: str
    figure: str
    wanted: str
    is_met: bool


def at_most(name: str, figure: float, most: float, unit: str) -> Target:
    return Target(name, f"{figure:,.1f} {unit}", f"at most {most:,g} {unit}", figure <= most)


def at_least(name: str, figure: float, least: float, unit: str) -> Target:
    return Target(name, f"{figure:,.0f} {unit}", f"at least {least:,g} {unit}", figure >= least)


def show(targets: Iterable[Target]) -> int:
    """Print targets; return how many are missed."""
    missed = 0
    for target in targets:
        missed += not target.is_met
        print(f"  {target.name:<52}{target.figure:>14}   {target.wanted}{'' if target.is_met else '   MISSED'}")
    print(flush=True)
    return missed


def share(sorted_values: list[float], part: float) -> float:
    """Return the value that this share of the values does not exceed.

    >>> share([1.0, 2.0, 3.0, 4.0], 0.5)
    2.0
    """
    return sorted_values[max(0, -int(-len(sorted_values) * part // 1) - 1)]
