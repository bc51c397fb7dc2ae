"""The report as one HTML page: what is wrong, how many, the worst first, and what to do.

Nothing is loaded from elsewhere, and the only script, which sorts tables, is allowed by its hash. The page can be read
without it. Every text of the site is escaped: it is written by strangers.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from scoter.batch.reports.charts import bar_chart, plain, shortened
from scoter.batch.site.problem_kind import SEVERITIES
from scoter.batch.site.problems import PROBLEM_KINDS
from scoter.batch.site.queries import GROUPED
from scoter.batch.site.tables import ProblemCount, SiteReport
from scoter.core.display import count
from scoter.engine.session import SqlSession

PAGES_PER_URL: Final = 5
_LONGEST: Final = 120
_LONGEST_CHART: Final = 15
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #55606f; --line: #dbe1e8; --back: #f5f7f9; --card: #fff;
  --link: #1f5f9e; --bar: #2f6fb0; --error: #b3261e; --warning: #8a5a00; --notice: #2c6470; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3adbb; --line: #333c49; --back: #13171d;
  --card: #1b212a; --link: #8dbdf0; --bar: #5b9bdd; --error: #ff8a80; --warning: #f0b64a; --notice: #7fc4d2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 20px 60px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 34px 0 8px; }
.card h2 { margin-top: 2px; }
h3 { font-size: 16px; margin: 0 0 2px; }
p { margin: 0 0 8px; }
.soft { color: var(--soft); }
a { color: var(--link); }
section.problem, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 18px; margin-top: 14px; }
.cards { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0 0; padding: 0; list-style: none; }
.cards li { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 18px;
  min-width: 130px; }
.cards b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.error { --tone: var(--error); } .warning { --tone: var(--warning); } .notice { --tone: var(--notice); }
.cards li.error, .cards li.warning, .cards li.notice { border-top: 3px solid var(--tone); padding-top: 8px; }
.cards li.error b, .cards li.warning b, .cards li.notice b { color: var(--tone); }
section.problem { border-left: 4px solid var(--tone); }
.badge { color: var(--tone); font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; margin-top: 8px; }
th { text-align: left; color: var(--soft); font-weight: 600; white-space: nowrap; }
th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ↑"; }
th[aria-sort=descending] button::after { content: " ↓"; }
th, td { padding: 5px 16px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td ul { margin: 0; padding: 0; list-style: none; }
.advice { margin: 6px 0 0; }
.chart { width: 100%; max-width: 760px; height: auto; display: block; }
.chart text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.chart .label { text-anchor: end; }
.chart .value { fill: var(--soft); }
.chart .bar { fill: var(--bar); }
details > summary { cursor: pointer; color: var(--link); margin-top: 6px; }
"""
_SCRIPT: Final = """
for (const table of document.querySelectorAll("table.sorted"))
  for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
      const order = new Intl.Collator("en", { numeric: true });
      const rows = [...table.tBodies[0].rows].sort((a, b) => order.compare(value(a), value(b)));
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    });
  }
"""
_HASH: Final = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY: Final = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
)
_CARDS: Final = {"error": "errors", "warning": "warnings", "notice": "notices"}


def site_page(session: SqlSession, report: SiteReport, title: str, *, limit: int) -> Iterator[str]:
    """Yield the lines of the page; each table has at most ``limit`` rows."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{plain(title)}</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>{plain(title)}</h1>"
    yield from _introduction(report)
    yield from _summary(report)
    for severity in SEVERITIES:
        found = [each for each in report.problems if each.severity == severity]
        if found:
            yield f"<h2>{_CARDS[severity].capitalize()}</h2>"
        for each in found:
            yield from _problem(session, each, limit)
    yield from _depths(report)
    yield from _nothing_found(report)
    yield f"</main><script>{_SCRIPT}</script></body></html>"


def _introduction(report: SiteReport) -> Iterator[str]:
    totals = report.totals
    starts = ", ".join(f"<bdi>{plain(shortened(each, _LONGEST))}</bdi>" for each in report.starts[:3])
    more = f" and {len(report.starts) - 3} more" if len(report.starts) > 3 else ""
    yield f'<p class="soft">Report of {report.made:%Y-%m-%d %H:%M} UTC, from {starts}{more}.</p>'
    pages, links = count(totals["pages"], "page"), count(totals["links"], "link")
    yield f"<p>{pages} on {count(totals['hosts'], 'host')}, with {links} to {count(totals['targets'], 'URL')}.</p>"
    if totals["unchecked"]:
        yield f"<p>Not checked: {count(totals['unchecked'], 'URL')}, such as images and links to other sites; "
        yield "<code>--check-links</code> asks for them.</p>"


def _summary(report: SiteReport) -> Iterator[str]:
    yield '<ul class="cards">'
    for severity in SEVERITIES:
        number = sum(each.urls for each in report.problems if each.severity == severity)
        yield f'<li class="{severity}"><b>{number:,}</b>{_CARDS[severity]}</li>'
    yield "</ul>"
    if not report.problems:
        yield '<div class="card"><p>No problems were found.</p></div>'
        return
    yield '<div class="card"><h2 id="summary">What was found</h2><div class="scroll">'
    yield '<table class="sorted"><thead><tr><th scope="col">Severity</th><th scope="col">Problem</th>'
    yield '<th scope="col" class="number">URLs</th><th scope="col" class="number">Places</th></tr></thead><tbody>'
    for each in report.problems:
        kind = PROBLEM_KINDS[each.problem]
        yield (
            f'<tr><td class="{each.severity}" data-value="{SEVERITIES.index(kind.severity)}">'
            f'<span class="badge">{each.severity}</span></td>'
            f'<td><a href="#{each.problem}">{plain(kind.sentence)}</a></td>'
            f'<td class="number" data-value="{each.urls}">{each.urls:,}</td>'
            f'<td class="number" data-value="{each.rows}">{each.rows:,}</td></tr>'
        )
    yield "</tbody></table></div></div>"


def _problem(session: SqlSession, found: ProblemCount, limit: int) -> Iterator[str]:
    kind = PROBLEM_KINDS[found.problem]
    yield f'<section class="problem {kind.severity}" id="{kind.name}" aria-labelledby="{kind.name}-heading">'
    yield f'<h3 id="{kind.name}-heading">{plain(kind.sentence)}</h3>'
    yield f'<p class="soft"><span class="badge">{kind.severity}</span> · {kind.name} · {count(found.urls, "URL")}</p>'
    yield f'<p class="advice"><strong>What to do:</strong> {plain(kind.advice)}</p>'
    rows = list(session.query(GROUPED, {"problem": kind.name, "limit": limit, "pages": PAGES_PER_URL}).rows)
    opened = " open" if len(rows) <= 10 or kind.severity == "error" else ""
    yield f"<details{opened}><summary>{count(len(rows), 'URL')}</summary>"
    yield from _table(rows)
    if found.urls > len(rows):
        yield f'<p class="soft">The first {len(rows):,} of {found.urls:,}; all of them: add <code>--json</code>.</p>'
    yield "</details></section>"


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    has_pages = any(row["pages"] and row["pages"][0]["page"] for row in rows)
    has_text = not has_pages and any(row["text"] for row in rows)
    has_detail = any(row["detail"] for row in rows)
    heads = [("URL", True), ("Text", has_text), ("What is wrong", has_detail), ("Where", has_pages)]
    yield '<div class="scroll"><table class="sorted"><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name, is_shown in heads if is_shown)
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = [_link(row["url"])]
        if has_text:
            cells.append(_text(row["text"]))
        if has_detail:
            cells.append(_text(row["detail"]))
        if has_pages:
            cells.append(_pages(row))
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</tbody></table></div>"


def _pages(row: Mapping[str, Any]) -> str:
    pages = [each for each in row["pages"] or () if each["page"]]
    lines = [f"<li>{_text(each['text']) + ' on ' if each['text'] else ''}{_link(each['page'])}</li>" for each in pages]
    if row["copies"] > len(row["pages"] or ()):
        lines.append(f'<li class="soft">and {count(row["copies"] - len(row["pages"]), "more place")}</li>')
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _text(text: str | None) -> str:
    return f"<bdi>{plain(shortened(text, _LONGEST))}</bdi>" if text else '<span class="soft">–</span>'


def _link(url: str | None) -> str:
    shown = _text(url)
    if url is None or not url.startswith(("http://", "https://")):
        return shown
    return f'<a href="{plain(url)}" rel="noopener noreferrer nofollow">{shown}</a>'


def _depths(report: SiteReport) -> Iterator[str]:
    if not report.depths:
        return
    rows = report.depths[:_LONGEST_CHART]
    bars = [(count(depth, "click"), float(number), f"{number:,}") for depth, number in rows]
    left = sum(number for _, number in report.depths[_LONGEST_CHART:])
    if left:
        bars.append(("more", float(left), f"{left:,}"))
    yield '<h2 id="depth">Clicks from the start pages</h2><div class="card">'
    yield bar_chart("Pages by clicks from the start pages", bars)
    yield "</div>"


def _nothing_found(report: SiteReport) -> Iterator[str]:
    found = {each.problem for each in report.problems}
    clean = [kind for kind in PROBLEM_KINDS.values() if kind.name not in found]
    if not clean:
        return
    yield '<h2 id="clean">Looked for, and not found</h2><div class="card"><ul>'
    yield "".join(f"<li>{plain(kind.sentence)}</li>" for kind in clean)
    yield "</ul></div>"
