"""How many clicks each page is away from the start pages.

The pages get numbers, and the links between them become pairs of numbers in a file. One pass over the file finds the
pages of the next level, so memory holds four bytes per link of a chunk, and the levels of all pages are in a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from scoter.batch.site.state import CLICKED
from scoter.engine.workspace import SqlWorkspace
from scoter.store.disk import disk_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Levels = NDArray[np.int16]

MOST_CLICKS: Final = 200
"""Levels that are counted; pages that are further away have this depth."""
_CHUNK: Final = 2_000_000
_DEPTHS = pa.schema([("id", pa.int64()), ("depth", pa.int16())])


def make_depths(work: SqlWorkspace, folder: Path) -> None:
    """Make the table ``depths`` of the pages that clicks lead to: ``url`` and ``depth``."""
    import numpy as np

    work.table("numbered", "SELECT url, row_number() OVER () - 1 AS id FROM pages")
    number = int(work.value("SELECT count(*) FROM numbered"))
    work.run("CREATE OR REPLACE TABLE levels (id BIGINT, depth SMALLINT)")
    if number:
        edges, places = folder / "edges.bin", folder / "levels.bin"
        with disk_errors("write the links between pages", edges):
            count = _write_edges(work, edges)
            levels = np.memmap(places, dtype=np.int16, mode="w+", shape=(number,))
            levels[:] = -1
            for (start,) in work.rows(_STARTS):
                levels[start] = 0
            if count:
                _count_clicks(np.memmap(edges, dtype=np.int32, mode="r", shape=(count, 2)), levels)
            for begin in range(0, number, _CHUNK):
                part = np.asarray(levels[begin : begin + _CHUNK])
                reached = np.flatnonzero(part >= 0)
                rows = pa.table({"id": reached + begin, "depth": part[reached]}, schema=_DEPTHS)
                with work.arrow("reached", rows):
                    work.run("INSERT INTO levels SELECT * FROM reached")
            del levels
        for file in (edges, places):
            file.unlink()
    work.table("depths", "SELECT n.url, l.depth FROM levels AS l JOIN numbered AS n USING (id)")


_STARTS: Final = """
    SELECT DISTINCT n.id FROM starts AS s LEFT JOIN chains AS c ON c.url = s.url
    JOIN numbered AS n ON n.url = coalesce(c.final, s.url)"""
_EDGES: Final = f"""
    SELECT DISTINCT s.id::INT AS source, t.id::INT AS target
    FROM all_links AS l
    JOIN numbered AS s ON s.url = l.source
    LEFT JOIN chains AS c ON c.url = l.target
    JOIN numbered AS t ON t.url = coalesce(c.final, l.target)
    WHERE l.kind IN {CLICKED!r} AND s.id <> t.id"""  # noqa: S608 - constants


def _write_edges(work: SqlWorkspace, file: Path) -> int:
    import numpy as np

    count = 0
    with file.open("wb") as out:
        for batch in work.batches(_EDGES):
            pairs = [batch.column(number).to_numpy(zero_copy_only=False) for number in range(2)]
            np.stack(pairs, axis=1).astype(np.int32).tofile(out)
            count += batch.num_rows
    return count


def _count_clicks(edges: Any, levels: Any) -> None:
    """Set the level of every page that can be reached; the start pages have theirs.

    >>> import numpy as np
    >>> levels = np.array([0, -1, -1, -1], dtype=np.int16)
    >>> _count_clicks(np.array([(0, 1), (1, 2), (0, 2), (2, 1)], dtype=np.int32), levels)
    >>> levels.tolist()
    [0, 1, 1, -1]
    """
    import numpy as np

    for level in range(MOST_CLICKS):
        is_new = False
        for begin in range(0, len(edges), _CHUNK):
            part = np.asarray(edges[begin : begin + _CHUNK])
            found = part[levels[part[:, 0]] == level, 1]
            found = found[levels[found] < 0]
            levels[found] = level + 1
            is_new = is_new or len(found) > 0
        if not is_new:
            return
