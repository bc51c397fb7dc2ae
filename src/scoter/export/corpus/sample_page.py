"""The sample report of a corpus as one HTML file: no scripts, nothing loaded, readable in light and dark.

Everything on it was written by strangers: texts are escaped, control characters are shown as such, addresses are links
only if they are of the web, and a policy in the page forbids whatever might still run or load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from scoter.batch.reports.charts import plain, shortened
from scoter.batch.reports.document import document_start
from scoter.core.display import count
from scoter.export.corpus.report import CorpusReport
from scoter.export.corpus.sample import SampledPage, SampleGroup

_STYLE: Final = """
.skip { position: absolute; left: -999px; }
.skip:focus { left: 20px; background: var(--card); padding: 4px 8px; }
body { max-width: 900px; }
section > h2 { font-size: 20px; }
article { border-top: 1px solid var(--line); padding: 14px 0 6px; }
article h3 { font-size: 16px; margin: 0; overflow-wrap: anywhere; }
article .facts { font-size: 13px; margin: 0 0 6px; overflow-wrap: anywhere; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; max-width: 75ch; }
.more { margin: 6px 0; }
.more > summary { padding: 2px 0; }
.gap { color: var(--soft); margin: 8px 0; }
.why { color: var(--ink); font-weight: 600; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
section > details > summary { padding: 4px 0; color: var(--ink); }
"""
_SHOWN: Final = 700  # characters of a text before the rest is folded
_LONGEST_TITLE: Final = 160
_TAB, _LINE = 9, 10
_CONTROLS: Final = {  # and marks that change the direction of what follows
    code: "\ufffd"
    for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if code not in (_TAB, _LINE)
}
_SIGNALS: Final = {
    "words": "{:,} words",
    "prose": "{:.0%} in sentences",
    "short_lines": "{:.0%} of lines short",
    "punctuated_lines": "{:.0%} with punctuation",
    "duplicate_5grams": "{:.0%} repeated",
}


def sample_page(report: CorpusReport, groups: Iterable[SampleGroup], *, title: str) -> Iterator[str]:
    """Yield the pieces of the page."""
    yield from document_start(title, _STYLE)
    yield '<a class="skip" href="#kept">Skip to the texts</a>\n'
    yield f"<h1>{plain(title)}</h1>\n"
    yield f"<p>{count(report.kept, 'text')} kept of {count(report.selected, 'page')}. Drawn at random from "
    yield "what was kept, and from what each rule dropped: read some of each. If a rule drops good texts, change its "
    yield "setting; if poor texts are kept, find one that they break.</p>\n"
    yield from _table(report)
    for group in groups:
        yield from _section(group)
    yield "</body></html>\n"


def _table(report: CorpusReport) -> Iterator[str]:
    yield '<section id="rules"><h2>Dropped</h2>'
    yield "<p>A page may break several rules. Without a rule, those that break only this one would be kept.</p>"
    yield '<div class="scroll"><table><thead><tr><th scope="col">because</th><th scope="col" class="number">pages</th>'
    yield '<th scope="col" class="number">only this</th><th scope="col">kept with</th></tr></thead><tbody>\n'
    unbroken = []
    for rule in report.rules:
        if not rule.pages:
            unbroken.append(rule.reason)
            continue
        yield f'<tr><td><a href="#{plain(rule.rule)}">{plain(rule.reason)}</a></td><td class="number">{rule.pages:,}'
        yield f'</td><td class="number">{rule.only:,}</td><td><code>{plain(rule.option)}</code></td></tr>\n'
    yield f'<tr><td><b>all</b></td><td class="number"><b>{report.selected - report.kept:,}</b></td><td></td><td></td>'
    yield "</tr></tbody></table></div>\n"
    if unbroken:
        yield f"<details><summary>{count(len(unbroken), 'rule')} dropped no page</summary><ul>"
        yield "".join(f"<li>{plain(reason)}</li>" for reason in unbroken) + "</ul></details>"
    yield "</section>\n"


def _section(group: SampleGroup) -> Iterator[str]:
    heading = group.heading[:1].upper() + group.heading[1:]
    yield f'<section id="{plain(group.name)}"><h2>{plain(heading)}</h2><p>{count(group.total, "page")}'
    yield f". To keep them: <code>{plain(group.option)}</code></p>\n" if group.option else ".</p>\n"
    for page in group.pages:
        yield from _article(page, group)
    yield '<p><a href="#rules">Back to the table</a></p></section>\n'


def _article(page: SampledPage, group: SampleGroup) -> Iterator[str]:
    name = shortened(page.title.strip() or page.url, _LONGEST_TITLE)
    yield f"<article><h3><bdi>{_link(page.url, name)}</bdi></h3>"
    facts = [plain(page.url)] if page.title.strip() else []
    facts += [plain(page.language)] if page.language else []
    facts += [form.format(page.signals[signal]) for signal, form in _SIGNALS.items()]
    yield f'<p class="facts">{" · ".join(facts)}</p>\n'
    others = [reason for reason in page.reasons if reason != group.heading]
    if others:
        yield f'<p class="facts">Dropped also because: <span class="why">{plain("; ".join(others))}</span></p>\n'
    if page.duplicate_of:
        yield from _repeated(page)
    yield from _text(page)
    yield "</article>\n"


def _repeated(page: SampledPage) -> Iterator[str]:
    shared = "" if page.shared is None else f", with which it shares {page.shared:.0%} of its sequences of 5 words"
    yield f'<p class="facts">Repeats {_link(page.duplicate_of, page.duplicate_of)}{shared}.</p>\n'
    if page.changes:
        yield '<details class="more"><summary>Lines that only this page has</summary><ul>'
        yield "".join(f"<li>{_shown(line)}</li>" for line in page.changes) + "</ul></details>\n"


def _text(page: SampledPage) -> Iterator[str]:
    text = page.beginning.strip("\n")
    if not text:
        yield '<p class="gap">No text.</p>'
        return
    cut = _cut(text) if len(text) > _SHOWN + _SHOWN // 2 else len(text)
    yield f'<p class="text" dir="auto">{_shown(text[:cut])}</p>\n'
    if cut == len(text) and not page.omitted:
        return
    rest = len(text) - cut + page.omitted + len(page.end)
    yield f'<details class="more"><summary>{count(rest, "more character")}</summary>'
    yield f'<p class="text" dir="auto">{_shown(text[cut:].strip(chr(10)))}</p>'
    if page.omitted:
        yield f'<p class="gap">… {count(page.omitted, "character")} left out …</p>'
        yield f'<p class="text" dir="auto">{_shown(page.end)}</p>'
    yield "</details>\n"


def _cut(text: str) -> int:
    """Return where to fold a text: after a line or a word, if there is one near."""
    for sign in ("\n", " "):
        found = text.rfind(sign, _SHOWN // 2, _SHOWN)
        if found >= 0:
            return found
    return _SHOWN


def _shown(text: str) -> str:
    return escape(text.translate(_CONTROLS), quote=True)


def _link(url: str, text: str) -> str:
    if not url.startswith(("http://", "https://")):
        return plain(text)
    return f'<a href="{plain(url)}" rel="noopener noreferrer nofollow">{plain(text)}</a>'
