"""The report on a site's health in a browser: its own page, and the view of the web interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import NOW
from tests.batch.site.archived_site import CONFIG, make_site
from tests.ui.browsing import axe_source, browsing, serious_findings

from scoter.batch.jobs.checksite import checksite
from scoter.batch.jobs.sql import sql
from scoter.batch.site.page import site_page

pytestmark = pytest.mark.browser

A = "https://a.example"
EVIL = '&lt;script>document.title = "broken"&lt;/script>&lt;img src=x onerror="document.title=1">'


@pytest.fixture
def report(tmp_path: Path) -> Path:
    links = "".join(f'<a href="/gone/{number}">{EVIL} {number}</a>' for number in range(3))
    home = f"<title>{EVIL}</title>{links}<a href=/two>2</a>"
    pages: dict[str, str | int] = {f"{A}/": home, f"{A}/two": f"<title>{EVIL}</title>"}
    pages |= {f"{A}/gone/{number}": 404 for number in range(3)}
    crawl = make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"])
    found = checksite(crawl, CONFIG, tmp_path / "scratch", now=NOW).report
    file = tmp_path / "health.html"
    with sql(crawl, memory_limit=2**28, query="problems") as tables:
        file.write_text("\n".join(site_page(tables, found, f"Health of {A}/", limit=10)))
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_its_policy_lets_only_its_own_script_run(report: Path, scheme: str) -> None:
    axe = axe_source()
    with browsing("", color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 740}) as browser:
        page = browser.page
        page.goto(f"file://{report}")
        assert axe is None or serious_findings(page, axe) == []
        assert page.title() == f"Health of {A}/"
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_tables_are_sorted_by_their_heads(report: Path) -> None:
    with browsing("") as browser:
        page = browser.page
        page.goto(f"file://{report}")
        table = page.locator("#broken-links table")
        first = table.locator("tbody tr td").first
        head = table.get_by_role("button", name="URL")
        head.click()
        head.click()

        assert first.inner_text() == f"{A}/gone/2"
        assert table.locator("th").first.get_attribute("aria-sort") == "descending"
        assert browser.complaints == []
