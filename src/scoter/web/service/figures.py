"""What the core shows of itself beside what it counts: how everything stands at the moment when somebody asks."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from scoter.web.service.parts import Parts

Gauges: TypeAlias = Mapping[str, Callable[[], Mapping[str, float]]]


def gauges(parts: Parts) -> Gauges:
    """Return what can be asked of the core, by group and name."""
    return {
        "journal_entries": lambda: {
            priority.name.lower(): count for priority, count in parts.stores.journal.depth().items()
        },
        "journal_oldest_seconds": lambda: {"entry": _oldest(parts)},
        "pipeline": lambda: {"under_way": parts.scheduler.under_way, "held": parts.scheduler.held},
        "fetching": lambda: _fetching(parts),
        "fetchers": lambda: _fetchers(parts),
        "store": lambda: _store(parts),
        "writer": lambda: _writer(parts),
        "clients": lambda: {"streams": len(parts.streams), "waiting": len(parts.arrivals)},
        "webhooks": lambda: {"under_way": len(parts.webhooks)},
        "log": lambda: {"behind": parts.stores.events.last() - parts.log.number},
        "disk_bytes": lambda: {"free": parts.floor.free, "floor": parts.floor.floor},
        "core": _core,
    }


def _oldest(parts: Parts) -> float:
    found = parts.stores.journal.oldest()
    return found.total_seconds() if found is not None else 0.0


def _fetching(parts: Parts) -> Mapping[str, float]:
    view = parts.fetchers.snapshot()
    return {
        "waiting": view.waiting,
        "under_way": view.under_way,
        "domains": view.domains,
        "restarts": view.restarts,
        "processes": len(view.fetchers),
    }


def _fetchers(parts: Parts) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for number, report in parts.fetchers.snapshot().fetchers.items():
        if report is not None:
            found[f"{number}.cpu_seconds"] = report.cpu
            found[f"{number}.memory_bytes"] = report.memory
            found[f"{number}.queues"] = report.queues
            found[f"{number}.shards"] = report.shards
    return found


def _store(parts: Parts) -> Mapping[str, float]:
    size = parts.stores.metadata.size()
    return {
        "records": size.records,
        "collisions": size.collisions,
        "file_bytes": size.file_bytes,
        "free_bytes": size.free_bytes,
    }


def _writer(parts: Parts) -> Mapping[str, float]:
    db = parts.stores.db
    return {
        "waiting": db.waiting,
        "writes": db.counts.writes,
        "commits": db.counts.commits,
        "failures": db.counts.failures,
    }


def _core() -> Mapping[str, float]:
    # The most it ever had: Linux tells it in kilobytes (getrusage(2)).
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu_seconds": time.process_time(), "most_memory_bytes": most}
