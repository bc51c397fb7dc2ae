"""All reports about a crawl on one HTML page: no scripts, nothing loaded from elsewhere, readable in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from scoter.batch.crawldir.export import text_value
from scoter.batch.reports.charts import bar_chart, plain, shortened
from scoter.batch.reports.document import document_start
from scoter.batch.reports.questions import CRAWL_REPORTS, TOTALS, CrawlReport
from scoter.batch.reports.remedies import REMEDIES, with_remedies
from scoter.config import Config
from scoter.core.display import size
from scoter.engine.session import SqlSession

_LONGEST_CELL: Final = 110
_BARS: Final = 15
_BYTES: Final = frozenset({"bytes"})


def report_page(
    session: SqlSession, title: str, *, now: datetime, limit: int, directory: object, config: Config
) -> Iterator[str]:
    """Yield the lines of the page; each report shows at most ``limit`` rows.

    ``directory`` and ``config`` are those of the crawl, for commands that allow what was refused.
    """
    yield from document_start(title)
    yield f"<h1>{plain(title)}</h1>"
    yield from _totals(next(iter(session.query(TOTALS).rows)), now)
    for report in CRAWL_REPORTS.values():
        answer = session.query(report.sql, {"limit": limit})
        columns, rows = answer.columns, list(answer.rows)
        if report.has_remedies:
            columns, rows = (*columns, *REMEDIES), list(with_remedies(rows, directory, config))
        yield from _section(report, columns, rows)
    yield "</body></html>"


def _totals(row: Mapping[str, Any], now: datetime) -> Iterator[str]:
    first, last = row["first_fetch"], row["last_fetch"]
    period = f"Fetched from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC. " if first and last else ""
    yield f"<p>{period}Report of {now:%Y-%m-%d %H:%M} UTC.</p>"
    shown = {name: f"{row[name]:,}" for name in ("urls", "pages", "hosts", "requests", "failures")}
    yield '<div class="totals">'
    for name, text in {**shown, "downloaded": size(row["bytes"])}.items():
        yield f"<div><b>{plain(text)}</b><span>{'URLs' if name == 'urls' else name}</span></div>"
    yield "</div>"


def _section(report: CrawlReport, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    heading = report.name.replace("-", " ").capitalize()
    yield f'<section id="{plain(report.name)}"><h2>{plain(heading)}</h2><p>{plain(report.sentence)}</p>'
    if not rows:
        yield "<p>None.</p></section>"
        return
    if report.label:
        form = _FORMS[report.unit]
        shown = list(reversed(rows[:_BARS])) if report.label == "day" else rows[:_BARS]
        bars = [
            (text_value(row[report.label]), float(row[report.value] or 0), form(row[report.value])) for row in shown
        ]
        yield bar_chart(heading, bars)
        yield "<details><summary>Table</summary>"
    yield from _table(columns, rows)
    yield "</details></section>" if report.label else "</section>"


def _table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    numbers = {name for name in columns if all(isinstance(row[name], int | float | None) for row in rows)}
    kinds = {name: ' class="number"' if name in numbers else "" for name in columns}
    yield '<div class="scroll"><table><tr>'
    yield "".join(f"<th{kinds[name]}>{plain(name.replace('_', ' '))}</th>" for name in columns) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td{kinds[name]}>{_cell(name, row[name])}</td>" for name in columns) + "</tr>"
    yield "</table></div>"


def _cell(name: str, value: Any) -> str:
    if name in _BYTES and value is not None:
        return plain(size(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = text_value(value)
    if name in REMEDIES:
        return f"<code>{plain(text)}</code>" if text else ""  # whole: it is copied
    shown = f"<bdi>{plain(shortened(text, _LONGEST_CELL))}</bdi>"
    if text.startswith(("http://", "https://")):
        return f'<a href="{plain(text)}" rel="noopener noreferrer nofollow">{shown}</a>'
    return shown


_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "number": lambda value: f"{value or 0:,.0f}",
    "bytes": lambda value: size(value or 0),
    "ms": lambda value: f"{value or 0:,.0f} ms",
}
