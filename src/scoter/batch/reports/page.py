"""All reports about a crawl on one HTML page: no scripts, nothing loaded from elsewhere, readable in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from scoter.batch.crawldir.export import text_value
from scoter.batch.reports.charts import bar_chart, plain, shortened
from scoter.batch.reports.questions import CRAWL_REPORTS, ERRORS, TOTALS, CrawlReport
from scoter.core.display import size
from scoter.engine.session import SqlSession

_LONGEST_CELL: Final = 110
_BARS: Final = 15
_BYTES: Final = frozenset({"bytes"})
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --back: #f6f8fa; --card: #fff;
  --bar: #2f6fb0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #323a46; --back: #14181e;
  --card: #1c222b; --bar: #5b9bdd; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1080px; padding: 24px 20px 60px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 2px; }
p { margin: 0 0 12px; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px;
  margin-top: 18px; }
.totals { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 16px; }
.totals div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 16px;
  min-width: 120px; }
.totals b { display: block; font-size: 22px; }
.totals span { color: var(--soft); }
.chart { width: 100%; height: auto; display: block; margin-bottom: 10px; }
.chart text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.chart .label { text-anchor: end; }
.chart .value { fill: var(--soft); }
.chart .bar { fill: var(--bar); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; }
th, td { padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
a { color: inherit; text-decoration-color: var(--line); }
summary { cursor: pointer; color: var(--soft); }
"""
_ERRORS: Final = CrawlReport(
    name="errors",
    sentence="Failed requests by reason, with an example of each.",
    sql=ERRORS,
    label="reason",
    value="requests",
)


def report_page(session: SqlSession, title: str, *, now: datetime, limit: int) -> Iterator[str]:
    """Yield the lines of the page; each report shows at most ``limit`` rows."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    # Nothing is loaded and nothing runs, whatever the texts of strangers contain.
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{plain(title)}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{plain(title)}</h1>"
    yield from _totals(next(iter(session.query(TOTALS).rows)), now)
    for report in (*CRAWL_REPORTS.values(), _ERRORS):
        answer = session.query(report.sql, {"limit": limit})
        yield from _section(report, answer.columns, list(answer.rows))
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
    shown = f"<bdi>{plain(shortened(text, _LONGEST_CELL))}</bdi>"
    if text.startswith(("http://", "https://")):
        return f'<a href="{plain(text)}" rel="noopener noreferrer nofollow">{shown}</a>'
    return shown


_FORMS: Final[Mapping[str, Callable[[Any], str]]] = {
    "number": lambda value: f"{value or 0:,.0f}",
    "bytes": lambda value: size(value or 0),
    "ms": lambda value: f"{value or 0:,.0f} ms",
}
