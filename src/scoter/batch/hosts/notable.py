"""The hosts of a crawl that stand out: the slowest, those that sent most, those with most errors or challenges."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.segment import Segment
from scoter.batch.hosts.segment_facts import fetch_rows
from scoter.core.reply import Reason
from scoter.engine import Engine
from scoter.plugins.recorded import ibis

SLOWEST, LARGEST, FAULTIEST, CHALLENGING = "slowest", "largest", "most errors", "most challenges"
_CHALLENGES = (Reason.CHALLENGE.value, Reason.WALL.value)
_SHOWN = 3
_USUAL = ("success", "notmodified", "redir_temp", "redir_perm")


class NotableHost(Struct, frozen=True):
    """A host and why it stands out: its mean response time in milliseconds, its bytes, errors or challenges."""

    why: str
    host: str
    value: float


def notable_hosts(engine: Engine, segments: Sequence[Segment]) -> tuple[NotableHost, ...]:
    """Return the hosts that stand out in some segments, the first of each kind first.

    If there are few hosts, only those with challenges stand out.
    """
    if not segments:
        return ()
    rows = fetch_rows(engine, segments)
    hosts = rows.group_by("host").agg(
        slowest=rows.response_ms.mean().round(1),
        largest=rows.length.sum().cast("float64"),
        errors=rows.status.isin(_USUAL).ifelse(0, 1).sum().cast("float64"),
        challenges=rows.reason.fill_null("").isin(_CHALLENGES).ifelse(1, 0).sum().cast("float64"),
    )
    kinds = {SLOWEST: hosts.slowest, LARGEST: hosts.largest, FAULTIEST: hosts.errors, CHALLENGING: hosts.challenges}
    best = []
    for why, value in kinds.items():
        found = hosts.select("host", why=ibis.literal(why), value=value)
        ordered = found.filter(found.value > 0).order_by([ibis.desc("value"), "host"]).limit(_SHOWN + 1)
        best.append(ordered)
    named = [NotableHost(row["why"], row["host"], row["value"]) for row in iter_rows(engine.batches(ibis.union(*best)))]
    named.sort(key=lambda each: (list(kinds).index(each.why), -each.value, each.host))
    # With fewer hosts than this, everything stands out, but challenges are always worth knowing.
    if sum(each.why == SLOWEST for each in named) <= _SHOWN:
        kinds = {CHALLENGING: hosts.challenges}
    return tuple(each for why in kinds for each in [one for one in named if one.why == why][:_SHOWN])
