"""OPIC: a page hands its score to the pages it links to (Abiteboul, Preda and Cobena, 2003, as Nutch does it)."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import CrawlDatum
from scoter.core.page import Outlink


class Factors(Struct, frozen=True, kw_only=True):
    """How much of a share reaches a page of the same host and of another; what the share is divided by."""

    internal: float = 1.0
    external: float = 1.0
    count_filtered: bool = False
    index_power: float = 0.5


def sort_value(score: float, value: float) -> float:
    """Return how early a URL should be fetched."""
    return score * value


def distribute(score: float, host: str, targets: Sequence[Outlink], found: int, factors: Factors) -> Sequence[Outlink]:
    """Return the kept targets with their shares; the page keeps its own score.

    ``found`` is the number of links before filters, which is what ``count_filtered`` divides by.
    """
    among = found if factors.count_filtered else len(targets)
    if not targets or among <= 0:
        return targets
    share = score / among
    return [
        replace(link, score=share * (factors.internal if link.target.host == host else factors.external))
        for link in targets
    ]


def update(old: CrawlDatum | None, new: CrawlDatum, links: Iterable[CrawlDatum]) -> float:
    """Return the score after a round: what it was, and all that arrived.

    The sum is exact, so that it does not depend on the order in which links are met; what is no number counts nothing.
    """
    scores = [score for score in ((old or new).score, *(link.score for link in links)) if math.isfinite(score)]
    try:
        return math.fsum(scores)
    except OverflowError:
        return sys.float_info.max


def boost(score: float, value: float, power: float) -> float:
    """Return a document's boost; a negative score gives none."""
    return float(max(score, 0.0) ** power) * value
