"""How every report as an HTML page begins, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scoter.batch.reports.charts import plain

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


def document_start(title: str, style: str = "") -> Iterator[str]:
    """Yield the lines of a page up to its body; ``style`` are further rules."""
    yield "<!doctype html>\n"
    yield '<html lang="en"><head><meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    # Nothing is loaded and nothing runs, whatever the texts of strangers contain.
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    yield '<meta name="referrer" content="no-referrer">\n'
    yield f"<title>{plain(title)}</title><style>{_STYLE}{style}</style></head><body>\n"
