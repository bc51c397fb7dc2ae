"""The scoring chain over joined rows: each hook runs through the plug-ins in their order.

A plug-in with a column face of a hook is asked for expressions; one without is asked row by row, and only of the rows
that the hook is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from scoter.batch import schemas
from scoter.batch.update import by_rows
from scoter.batch.update.transition import changed, is_added, is_touched
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.plugins import Column

Chain = Sequence[tuple[str, Any]]

_HOOKS: tuple[tuple[str, Callable[[Rows], Any], Any], ...] = (
    ("initial", is_added, by_rows.by_initial),
    ("update", is_touched, by_rows.by_update),
    ("orphaned", lambda rows: ~is_touched(rows), by_rows.by_orphaned),
)


def in_rows(chain: Chain) -> bool:
    """Tell whether a plug-in has to be asked row by row."""
    return any(_row_face(plugin, hook) for hook, _, _ in _HOOKS for _, plugin in chain)


def wants_links(chain: Chain) -> bool:
    """Tell whether a plug-in wants to see the links one by one."""
    return any(_row_face(plugin, "update") for _, plugin in chain)


def scored(rows: Rows, chain: Chain, engine: Engine, now: datetime, extra: Sequence[Column]) -> Rows:
    """Return the rows as the chain leaves them."""
    for hook, where, row_by_row in _HOOKS:
        for _, plugin in chain:
            by_columns = getattr(plugin, f"{hook}_columns", None)
            if by_columns is not None:
                rows = changed(rows, (where(rows), by_columns(rows)))
            elif (face := _row_face(plugin, hook)) is not None:
                ask = row_by_row(face, now, schemas.names(extra))
                rows = by_rows.asked(engine, rows, where(rows), ask, extra)
    return rows


def _row_face(plugin: Any, hook: str) -> Any:
    """Return the row face that has to do, for want of another."""
    return None if getattr(plugin, f"{hook}_columns", None) is not None else getattr(plugin, hook, None)
