"""Tell data tables from tables that place things, and write the former as Markdown."""

from __future__ import annotations

from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.inline import InlineWriter, inline_nodes
from scoter.parse.main.nodes import Element

MOST_COLUMNS: Final = 50
_LONG: Final = 300  # characters; a longer cell suggests a layout table
_PLACED: Final = name_set("table h1 h2 h3 h4 h5 h6 pre hr article section main form blockquote")
_GROUPS: Final = frozenset(("thead", "tbody", "tfoot"))


def is_data(table: Element) -> bool:
    """Tell whether a table holds data rather than layout."""
    if table.get("role") in {"presentation", "none"}:
        return False
    found = rows(table)
    cells = [cell for _, row in found for cell in row]
    if len(found) < 2 or max((len(row) for _, row in found), default=0) < 2:
        return False
    for cell in cells:
        if any(type(child) is Element for child in cell.children) and any(
            inner.tag in _PLACED for inner in cell.elements()
        ):
            return False
    if any(cell.tag == "th" for cell in cells) or any(head for head, _ in found):
        return True
    return all(cell.size <= _LONG for cell in cells)


def rows(table: Element) -> list[tuple[bool, list[Element]]]:
    """Return the rows, each with whether it belongs to the head, and its cells."""
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


def write_table(table: Element, lines: InlineWriter, left: int) -> str:
    """Return a data table in GitHub's Markdown, with as many rows as fit into ``left`` characters."""
    found = rows(table)
    written: list[list[str]] = []
    below: dict[int, int] = {}  # columns covered by a cell of an earlier row: rows left
    for _, row in found:
        cells: list[str] = []
        for cell in row:
            _fill(cells, below)
            down = _number(cell.get("rowspan")) - 1
            text = lines.cell(inline_nodes(cell.children))
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
    has_head = found[0][0] or all(cell.tag == "th" for cell in found[0][1])
    if not has_head and any(cell.tag == "th" for _, row in found for cell in row):
        written.insert(0, [])  # it has row headers only
    width = max(len(row) for row in written)
    written[0] += [""] * (width - len(written[0]))
    head, *body = [f"| {' | '.join(row)} |" for row in written]
    return "\n".join([head, "|" + " --- |" * width, *body])


def _fill(cells: list[str], below: dict[int, int]) -> None:
    """Skip the columns covered by cells of earlier rows."""
    while (reach := below.get(len(cells), 0)) and len(cells) < MOST_COLUMNS:
        below[len(cells)] = reach - 1
        cells.append("")


def _number(text: str) -> int:
    return min(int(text), MOST_COLUMNS) if text.isascii() and text.isdigit() and len(text) <= 5 and int(text) else 1
