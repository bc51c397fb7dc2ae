"""The simulator of large crawls, and the page with its results."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.scale import CHAN, CRAWLS, Costs, Crawl, Machine, main, need

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()
SMALL = Crawl(name="small", pages_per_day=1e6, urls=1e6)


def row(title: str) -> list[str]:
    """Return the cells of the results' row of that title."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {title} |"))
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_page_has_the_results() -> None:
    found = [need(crawl, Machine(), Costs()) for crawl in CRAWLS]

    assert row("core hours a day") == [f"{each.total_core_hours:,.0f}" for each in found]
    assert row("machines") == [f"{each.count:,}" for each in found]
    assert row("dollars a day") == [f"{each.count * Machine().price * 24:,.0f}" for each in found]
    assert row("bottleneck") == [each.bottleneck for each in found]
    assert row("hosts that must be open at a time") == [f"{each.hosts:,.0f}" for each in found]


@pytest.mark.parametrize(("page_bytes", "is_met"), [(25e3, True), (128e3, True), (200e3, False)])
def test_goal_of_half_the_core_hours(page_bytes: float, is_met: bool) -> None:
    found = need(Crawl(name="", pages_per_day=1e9, urls=0, page_bytes=page_bytes), Machine(), Costs())
    hours = found.core_hours["fetch and parse"] + found.core_hours["TLS handshakes"]

    assert (hours <= CHAN / 2) is is_met
    assert f"{hours:,.0f} ({hours / CHAN:.2f}" in PAGE


def test_costs_grow_with_pages_and_rows() -> None:
    small = need(SMALL, Machine(), Costs())
    more_pages = need(Crawl(name="", pages_per_day=2e6, urls=1e6), Machine(), Costs())
    rewritten = need(Crawl(name="", pages_per_day=1e6, urls=1e6, is_incremental=False), Machine(), Costs())

    assert more_pages.core_hours["fetch and parse"] == pytest.approx(2 * small.core_hours["fetch and parse"])
    assert rewritten.core_hours["updatedb"] > small.core_hours["updatedb"]
    assert small.count == 1


def test_own_numbers_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pages-per-day", "50e6", "--urls", "5e9"]) == 0
    assert "579 pages/s of 100 KB, a crawldb of 5.0 billion URLs" in capsys.readouterr().out

    with pytest.raises(SystemExit):
        main(["--pages-per-day", "-1"])
