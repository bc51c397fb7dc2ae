"""Tables: those that hold data become tables, the others were made to place things and become what is in them."""

from __future__ import annotations

from typing import Final

from scoter.parse.main.inline import Lines
from scoter.parse.main.tree import Element

MOST_COLUMNS: Final = 50
_LONG: Final = 300  # characters of a cell that is rather a column of a page
_PLACED: Final = frozenset(
    (
        *("table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr", "article", "section", "main", "form"),
        *("blockquote",),
    )
)
_GROUPS: Final = frozenset(("thead", "tbody", "tfoot"))


def is_data(table: Element) -> bool:
    """Tell whether a table relates its cells to one another, and does not only place them."""
    if table.get("role") in {"presentation", "none"}:
        return False
    rows = _rows(table)
    cells = [cell for _, row in rows for cell in row]
    if len(rows) < 2 or max((len(row) for _, row in rows), default=0) < 2:
        return False
    if any(inner.tag in _PLACED for cell in cells if cell.blocky for inner in cell.elements()):
        return False
    if any(cell.tag == "th" for cell in cells) or any(head for head, _ in rows):
        return True
    return all(cell.size <= _LONG for cell in cells)


def write_table(table: Element, lines: Lines, left: int) -> str:
    """Return a table of data as GitHub's Markdown has it, as many of its rows as there is room for."""
    rows = _rows(table)
    written: list[list[str]] = []
    below: dict[int, int] = {}  # columns that a cell of an earlier row reaches into, and for how many rows
    for _, row in rows:
        cells: list[str] = []
        for cell in row:
            _fill(cells, below)
            down = _number(cell.get("rowspan")) - 1
            text = lines.cell(cell.children)
            for _ in range(min(_number(cell.get("colspan")), MOST_COLUMNS - len(cells))):
                if down:
                    below[len(cells)] = down
                cells.append(text)
                text = ""
        _fill(cells, below)
        left -= sum(len(cell) + 3 for cell in cells)
        if left < 0:
            break
        if any(cells):
            written.append(cells)
    if not written:
        return ""
    has_head = rows[0][0] or all(cell.tag == "th" for cell in rows[0][1])
    if not has_head and any(cell.tag == "th" for _, row in rows for cell in row):
        written.insert(0, [])  # its rows have heads of their own
    width = max(len(row) for row in written)
    written[0] += [""] * (width - len(written[0]))
    head, *body = [f"| {' | '.join(row)} |" for row in written]
    return "\n".join([head, "|" + " --- |" * width, *body])


def _fill(cells: list[str], below: dict[int, int]) -> None:
    """Leave room for the cells that reach down from above."""
    while (reach := below.get(len(cells), 0)) and len(cells) < MOST_COLUMNS:
        below[len(cells)] = reach - 1
        cells.append("")


def _rows(table: Element) -> list[tuple[bool, list[Element]]]:
    """Return the rows, each with whether it is of the head, and with its cells."""
    found: list[tuple[bool, list[Element]]] = []
    for group in table.children:
        if type(group) is not Element:
            continue
        inside = group.children if group.tag in _GROUPS else [group]
        for row in inside:
            if type(row) is Element and row.tag == "tr":
                cells = [cell for cell in row.children if type(cell) is Element and cell.tag in {"td", "th"}]
                if cells:
                    found.append((group.tag == "thead", cells))
    return found


def _number(text: str) -> int:
    return min(int(text), MOST_COLUMNS) if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) else 1
