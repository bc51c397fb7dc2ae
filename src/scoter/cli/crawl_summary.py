"""The summary at the end of `scoter crawl`: what was fetched, and if little was, why and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from scoter.cli.fetch import deferred_hosts
from scoter.cli.invocation import remark
from scoter.cli.output import visible
from scoter.cli.results import print_table
from scoter.cli.sitemap import not_read
from scoter.core.display import count, duration, size
from scoter.errors import typed

if TYPE_CHECKING:
    from scoter.batch.crawldir.causes import Cause
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.fetchlists.traps import TrapHost
    from scoter.batch.hosts.notable import NotableHost
    from scoter.batch.jobs.crawl import CrawlResult

_TRAPS_SHOWN = 5
_CAUSES_SHOWN = 5
_ADVICE = {
    "unreachable": "Nothing answers there: check that the server runs, and the port.",
    "unresolved": "No such host: check how it is spelled, and the connection of this machine.",
    "timeout": "The server does not answer in time: try again later.",
    "tls": "The connection is not secure: check the certificate, or whether the server speaks https on this port.",
    "malformed": "The reply is not HTTP: check the port, and whether the server speaks http or https on it.",
    "not_found": "Check how the URL is spelled.",
}
"""What to check first, by the beginning of a reason."""


def print_summary(done: CrawlResult, seconds: float, crawl: CrawlDir) -> None:
    rows = [
        {
            "round": str(each.number),
            "segment": each.segment,
            "URLs": f"{each.urls:,}",
            "fetched": f"{each.fetched:,}",
            "new URLs": f"{each.new:,}",
            "time": duration(round(each.seconds)),
        }
        for each in done.rounds
    ]
    if rows:
        print_table(rows, list(rows[0]))
        print()
    by_frequency = sorted(done.by_status.items(), key=lambda each: -each[1])
    statuses = ", ".join(f"{number:,} {name}" for name, number in by_frequency)
    print(f"{count(sum(done.by_status.values()), 'URL')} known: {statuses}.")
    for line in _host_lines(done.hosts):
        print(line)
    if done.traps:
        print(_trap_line(done.traps))
    if done.sitemaps is not None and done.sitemaps.unread:
        for line in not_read(done.sitemaps):
            remark(line)
        remark(f"To read them: scoter sitemap {typed(crawl.path)}")
    has_page = any(each.fetched for each in done.rounds)
    for line in _cause_lines(done.causes, crawl, has_page=has_page):
        remark(line)
    if has_page and (line := _failure_line(done, crawl)):
        remark(line)
    if done.deferred:
        remark(deferred_hosts(done.deferred))
    if not done.is_done and done.left * 2 > sum(done.by_status.values()):
        left = f"{count(done.left, 'known URL')} of {sum(done.by_status.values()):,} are not fetched yet"
        remark(f"{left}. To fetch until nothing is due: scoter crawl {typed(crawl.path)} --until-done")
    remark(_last_line(done, seconds, crawl))


def _cause_lines(causes: Sequence[Cause], crawl: CrawlDir, *, has_page: bool) -> Iterator[str]:
    """Yield what settings refused, and if there is no page, everything that failed."""
    from scoter.batch.urls.refusals import FOR_OWN_HOSTS

    shown = [each for each in causes if each.setting or not has_page][:_CAUSES_SHOWN]
    if not shown:
        return
    yield "Refused because of a setting:" if has_page else "No page was fetched:"
    for each in shown:
        more = f", and {count(each.urls - 1, 'URL')} more" if each.urls > 1 else ""
        detail = f" ({visible(each.detail)})" if each.detail else ""
        yield f"  {visible(each.url)}: {each.reason}{detail}{more}"
        where = " on a host of your own" if each.setting == FOR_OWN_HOSTS else ""
        if each.words:
            yield f"    To allow it{where} ({each.setting}): scoter crawl {typed(crawl.path, *each.words)}"
        elif each.setting:
            yield f"    To allow it{where}: {each.setting}"
        elif advice := _advice(each):
            yield f"    {advice}"
    yield f"To see more: scoter explain {typed(crawl.path, shown[0].url)}"


def _failure_line(done: CrawlResult, crawl: CrawlDir) -> str:
    """Return what the web refused, if it was more than a tenth of the URLs of this run."""
    failed = [each for each in done.causes if not each.setting]
    urls, number = sum(each.urls for each in done.rounds), sum(each.urls for each in failed)
    if not failed or number * 10 < urls:
        return ""
    why = f", mostly {failed[0].reason}" if len(failed) > 1 else f": {failed[0].reason}"
    more = f"To see more: scoter report {typed(crawl.path, 'failures')}"
    return f"{count(number, 'URL')} of {urls:,} gave no page{why}. {more}"


def _advice(cause: Cause) -> str:
    """Return what to check first about a failure that no setting decided."""
    text = cause.reason if cause.reason != "robots_unreachable" else cause.detail.removeprefix("robots.txt: ")
    return next((advice for reason, advice in _ADVICE.items() if text.startswith(reason)), "")


def _last_line(done: CrawlResult, seconds: float, crawl: CrawlDir) -> str:
    how = f"after {duration(round(seconds))}"
    due = hint = ""
    if not done.is_done:
        hint = f" To continue: scoter crawl {typed(crawl.path)}"
    elif done.next_due and not done.has_succeeded:
        due = f" until {done.next_due:%Y-%m-%d %H:%M} UTC"
        days = max(1, math.ceil((done.next_due - datetime.now(UTC)) / timedelta(days=1)))
        hint = f" To try again now: scoter crawl {typed(crawl.path)} --add-days {days}" if done.left else ""
    if done.has_succeeded or done.ended_by.startswith("stopped"):
        return f"Finished {how}: {done.ended_by}.{hint}"
    return f"Failed {how}: no page was fetched; {done.ended_by}{due}.{hint}"


def _host_lines(hosts: Sequence[NotableHost]) -> Iterator[str]:
    forms: dict[str, Callable[[float], str]] = {
        "slowest": "{:,.0f} ms".format,
        "largest": size,
        "most errors": "{:,.0f}".format,
        "most challenges": "{:,.0f}".format,
    }
    titles = {"slowest": "Slowest hosts", "largest": "Hosts that sent most", "most errors": "Hosts with most errors"}
    titles["most challenges"] = "Hosts that sent a challenge or a wall instead of pages"
    for why, shown in forms.items():
        found = [f"{visible(each.host)} {shown(each.value)}" for each in hosts if each.why == why]
        if found:
            yield f"{titles[why]}: {', '.join(found)}."


def _trap_line(traps: Sequence[TrapHost]) -> str:
    shown = "; ".join(
        f"{visible(each.pattern or each.host)} ({each.reason}, {count(each.urls, 'URL')} held back)"
        for each in traps[:_TRAPS_SHOWN]
    )
    more = f"; and {len(traps) - _TRAPS_SHOWN:,} more" if len(traps) > _TRAPS_SHOWN else ""
    return f"Possible traps: {shown}{more}. To fetch them anyway: -D generate.trap_share=1"
