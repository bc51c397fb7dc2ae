"""What a person does with the web interface of `scoter ui`, in a real Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.batch.api.server import serving_crawls
from tests.fetch.browsers import needs_browser
from tests.local_site import local_site
from tests.ui.browsing import Browsing, axe_source, browsing, serious_findings
from tests.ui.hostile_site import LINKS, hostile_site

from scoter.client import CrawlClient
from scoter.simweb import WebSpec, running

pytestmark = needs_browser
SEED = "http://www.grebe0.test/"
HOSTILE = "http://www.hostile.test/"


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, with a crawl `news` started by the first test."""
    folder = tmp_path_factory.mktemp("ui") / "crawls"
    folder.mkdir()
    shutil.copytree(Path(__file__).parents[2] / "examples" / "nutch-crawl", folder / "nutch")
    with running(WebSpec(hosts=3, pages=40)) as web, serving_crawls(folder, web.port) as address:
        yield address


@pytest.fixture
def browser(crawls: str) -> Iterator[Browsing]:
    with browsing(crawls) as found:
        yield found
        assert found.complaints == []
        assert found.dialogs == []


def test_a_person_starts_a_crawl_and_watches_it_finish(browser: Browsing) -> None:
    page = browser.open("/")
    page.get_by_text("There are no crawls in this folder yet.").wait_for()

    page.get_by_role("link", name="Start a crawl").first.click()
    page.get_by_label("Name").fill("news")
    page.get_by_label("Seeds").fill("\n".join([SEED, *(f"{SEED}?unknown={number}" for number in range(8))]))
    page.get_by_label("Scope").select_option("any")
    page.get_by_label("Rounds").fill("2")
    page.get_by_text("More options").click()
    page.get_by_label("Index").check()
    page.get_by_role("button", name="Start the crawl").click()

    page.get_by_role("heading", name="news").wait_for()
    page.locator(".state.running").first.wait_for()
    page.get_by_text("Last run: 2 rounds done.").wait_for(timeout=120_000)
    page.get_by_role("button", name="Resume").wait_for()
    page.get_by_role("img", name="New URLs in URLs per round").wait_for()
    page.get_by_role("link", name="fetched", exact=True).wait_for()
    page.get_by_role("link", name="Crawls").first.click()
    page.get_by_role("table").get_by_role("link", name="news").wait_for()
    page.get_by_role("list", name="Colours of the bars by status").get_by_text("not fetched yet").wait_for()


def test_an_invalid_order_shows_what_is_wrong(browser: Browsing) -> None:
    page = browser.open("/new")

    page.get_by_label("Name").fill("other")
    page.get_by_label("Seeds").fill(SEED)
    page.get_by_text("More options").click()
    page.get_by_label("Settings").fill("fetch.dealy = 1s")
    page.get_by_role("button", name="Start the crawl").click()

    assert "fetch.delay" in page.get_by_role("alert").inner_text()


def test_a_crawl_is_stopped_and_resumed_with_the_keyboard(browser: Browsing) -> None:
    with CrawlClient(browser.address, timeout=120) as client:
        client.create("slow", [SEED], until_done=True, settings={"fetch.delay": "2s"})
        page = browser.open("/crawl/slow")
        page.get_by_text("step fetch").wait_for()
        page.get_by_role("button", name="Stop").focus()
        page.wait_for_timeout(3_000)  # the values beside the button are renewed every second
        assert page.evaluate("document.activeElement.textContent") == "Stop"
        page.keyboard.press("Enter")
        page.locator(".state.stopped").wait_for(timeout=120_000)
        page.get_by_text("Last run: stopped by request").wait_for()

        page.get_by_role("button", name="Resume").click()
        page.locator(".state.running").wait_for()
        client.stop("slow", client.jobs("slow")[0].id, how="kill")
        page.get_by_role("button", name="Resume").wait_for(timeout=120_000)


def test_a_crawl_without_a_page_says_why_and_a_button_fixes_it(browser: Browsing) -> None:
    with local_site({"/": "<title>Home</title><a href=/gone>gone</a>"}) as site:
        seed = site.url(host="127.0.0.1")
        page = browser.open("/new")
        page.get_by_label("Name").fill("private")
        page.get_by_label("Seeds").fill(seed)
        page.get_by_role("button", name="Start the crawl").click()

        page.locator(".state.failed").wait_for(timeout=120_000)
        alert = page.get_by_role("alert")
        alert.get_by_text("No page was fetched.").wait_for()
        first = page.evaluate("document.querySelector('nav.tabs').nextElementSibling.innerText")
        assert f"{seed} – refused port: port {site.server_port} is not in fetch.allow_ports." in first
        assert "The setting fetch.allow_hosts decides this." in first
        page.locator(".plot .legend li").get_by_text("refused port", exact=True).first.wait_for()
        page.locator(".plot.none").get_by_text("Speed").first.wait_for()

        alert.get_by_role("button", name="Allow it and try again").click()
        page.locator(".state.finished").wait_for(timeout=120_000)
        assert page.get_by_role("alert").count() == 0
        assert "/" in site.requests


def test_an_administrator_allows_private_seeds_with_a_checkbox(browser: Browsing) -> None:
    with local_site({"/": "<title>Home</title>"}) as site:
        page = browser.open("/new")
        page.get_by_label("Name").fill("own")
        page.get_by_label("Seeds").fill(site.url(host="127.0.0.1"))
        page.get_by_label("Allow private hosts and ports").check()
        page.get_by_label("These are my own sites").check()
        page.get_by_role("button", name="Start the crawl").click()

        page.locator(".state.finished").wait_for(timeout=120_000)
        assert "/" in site.requests


def test_search_leads_to_a_page_and_its_archived_copy(browser: Browsing) -> None:
    page = browser.open("/crawl/news/search")
    page.get_by_role("searchbox").fill("river")
    page.get_by_role("button", name="Search").click()
    page.locator(".hits a").first.click()

    page.get_by_role("heading", name="URL", exact=True).wait_for()
    assert page.locator(".verdict").inner_text().startswith("fetched")
    page.get_by_role("button", name="Show the page").click()
    frame = page.frame_locator("iframe.replay")
    frame.locator("h1").wait_for()
    assert page.locator("iframe.replay").get_attribute("sandbox") == ""
    page.get_by_role("button", name="Show the source").click()
    assert "<h1" in page.locator("pre.source").first.inner_text()
    page.get_by_role("button", name="Show the headers").click()
    page.get_by_role("row").filter(has_text="text/html").first.wait_for()
    page.get_by_role("button", name="All text").click()
    page.locator("pre.source").last.wait_for()


def test_a_url_is_explained(browser: Browsing) -> None:
    page = browser.open("/crawl/news/urls")
    page.get_by_label("Look up a URL").fill(f"{SEED}never-seen")
    page.get_by_role("button", name="Explain").click()

    page.get_by_text("The crawldb does not contain this URL.").wait_for()
    page.get_by_text("It was never requested.").wait_for()


def test_hosts_are_sorted_and_filtered(browser: Browsing) -> None:
    page = browser.open("/crawl/news/hosts")
    page.get_by_role("button", name="Host", exact=False).first.click()
    page.locator("th[aria-sort=ascending]").wait_for()
    names = page.locator("tbody tr td:first-child").all_inner_texts()
    assert names == sorted(names)

    page.get_by_label("Host contains").fill("grebe0")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**contains=grebe0*")
    page.wait_for_selector("main:not([aria-busy])")
    assert all(
        "grebe0" in name for name in page.locator("section:first-of-type tbody tr td:first-child").all_inner_texts()
    )


def test_sql_shows_a_table_a_plot_and_a_file(browser: Browsing) -> None:
    page = browser.open("/crawl/news/sql")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("columnheader", name="fetched").wait_for()
    page.get_by_role("button", name="Plot").click()
    page.locator(".bars li").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert Path(download.value.path()).read_text().startswith("host,urls,fetched")

    page.get_by_label("Query").fill("drop table crawldb")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("The query was refused.").wait_for()


def test_a_job_is_run_and_a_schedule_is_made_and_deleted(browser: Browsing) -> None:
    page = browser.open("/crawl/news/jobs")
    page.get_by_label("Command").select_option("updatehostdb")
    page.get_by_role("button", name="Run").click()
    page.wait_for_url(re.compile("/jobs/."))
    page.locator(".state.succeeded").wait_for(timeout=120_000)

    browser.open("/schedules?crawl=news")
    page.get_by_role("button", name="Add the schedule").click()
    page.get_by_role("cell", name="7d").wait_for()
    page.get_by_role("button", name="Delete the schedule of news").click()
    page.get_by_text("There are no recurring jobs.").wait_for()


def test_crawls_are_merged_into_a_new_one(browser: Browsing) -> None:
    with CrawlClient(browser.address, timeout=120) as client:
        client.start("copy", "mergedb", directories=["news"])
        for event in client.watch("copy", after=0):
            if getattr(event, "state", "") in ("succeeded", "failed"):
                break
    page = browser.open("/merge")
    page.get_by_label("Name of the new crawl").fill("merged")
    page.get_by_role("button", name="Merge").click()
    page.get_by_text("Choose at least two crawls").wait_for()
    page.get_by_label("news", exact=True).check()
    page.get_by_label("copy", exact=True).check()
    page.get_by_role("button", name="Merge").click()
    page.get_by_role("heading", name="Job merge").wait_for()
    browser.open("/")  # the job goes on without its page
    browser.open("/crawl/merged/jobs")
    page.get_by_role("link", name="merge", exact=True).click()
    page.locator(".state.succeeded").wait_for(timeout=120_000)
    page.get_by_role("link", name="Segments").click()
    page.get_by_role("cell", name="applied").wait_for()


def test_a_nutch_crawl_is_imported(browser: Browsing) -> None:
    page = browser.open("/import")
    page.get_by_label("Name of the new crawl").fill("imported")
    page.get_by_label("Folder of the Nutch crawl").fill("nothing")
    page.get_by_role("button", name="Import").click()
    page.get_by_text("Accepted: nutch").wait_for()
    page.get_by_label("Folder of the Nutch crawl").fill("nutch")
    page.get_by_role("button", name="Import").click()
    page.locator(".state.succeeded").wait_for(timeout=120_000)
    page.get_by_role("link", name="imported").click()
    page.get_by_role("heading", name="imported").wait_for()


PLACES = (
    "/",
    "/new",
    "/merge",
    "/import",
    "/schedules",
    "/keys",
    "/crawl/news",
    "/crawl/news/urls",
    "/crawl/news/hosts",
    "/crawl/news/segments",
    f"/crawl/news/url?url={quote(SEED, safe='')}",
    "/crawl/news/search?q=river",
    "/crawl/news/reports?report=errors",
    "/crawl/news/reports?report=site",
    "/crawl/news/sql",
    "/crawl/news/jobs",
    "/nowhere",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_serious_axe_findings_or_overflows_a_phone(crawls: str, scheme: str) -> None:
    axe = axe_source()
    found: list[str] = []
    with CrawlClient(crawls, timeout=120) as client:
        jobs = [f"/crawl/news/jobs/{job.id}" for job in client.jobs("news")]
    with browsing(crawls, color_scheme=scheme, viewport={"width": 360, "height": 740}) as browser:
        for place in (*PLACES, jobs[-1]):
            page = browser.open(place)
            if axe is not None:
                found += (f"{place} {each}" for each in serious_findings(page, axe))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{place} is wider than a phone")
        assert browser.complaints == []
    assert found == []


def test_the_first_view_is_small(crawls: str) -> None:
    with browsing(crawls) as browser:
        page = browser.page
        page.goto(f"{crawls}/#/")
        page.wait_for_selector("main:not([aria-busy]) h1")
        sizes = page.evaluate(
            "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
            ".map((each) => each.transferSize)"
        )
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        print(f"first view: {sum(sizes) / 1024:.0f} KiB in {len(sizes)} responses, painted after {painted} ms")

    assert len(sizes) > 5
    assert 20_000 < sum(sizes) <= 400 * 1024


def test_everything_is_reached_with_the_keyboard(browser: Browsing) -> None:
    page = browser.open("/")
    page.keyboard.press("Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.textContent") == "news":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="news").wait_for()

    browser.open("/crawl/news/search?q=river")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_a_key_is_exchanged_for_a_session_that_scripts_cannot_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scoter.cli.main", "ui", str(tmp_path), "--new-key", "me", "--scopes", "admin"]
    token = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()

    with serving_crawls(tmp_path, 1, "--with-keys") as address, browsing(address) as browser:
        page = browser.open("/")
        page.get_by_label("API key").fill("scoter_wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("The server does not know this key.").wait_for()
        page.get_by_label("API key").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("There are no crawls in this folder yet.").wait_for()

        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"

        browser.open("/keys")
        page.get_by_label("Name").fill("reader")
        page.get_by_role("button", name="Create").click()
        assert "scoter_" in page.locator(".notice pre").inner_text()
        page.get_by_role("button", name="Revoke reader").click()
        page.get_by_role("button", name="Revoke reader").wait_for(state="detached")

        page.get_by_role("button", name="Log out").click()
        page.get_by_label("API key").wait_for()
        assert page.context.cookies() == []


def test_nothing_of_a_hostile_site_runs_or_becomes_markup(tmp_path: Path) -> None:
    folder = tmp_path / "crawls"
    folder.mkdir()
    with hostile_site() as port, serving_crawls(folder, port) as address:
        with CrawlClient(address, timeout=120) as client:
            client.create("evil", [HOSTILE], rounds=2, scope="any", index=True)
            for event in client.watch("evil", after=0):
                if getattr(event, "state", "") in ("succeeded", "failed"):
                    break
            seed = f"{HOSTILE}?<img src=x onerror=alert('seed')>\tnote=<script>alert('note')</script>"
            job = client.start("evil", "inject", seeds=[seed])
        with browsing(address, viewport={"width": 1000, "height": 800}) as browser:
            _visit(browser)
            _visit_job(browser, job.id)
            _replay(browser)
            assert browser.dialogs == []
            assert browser.complaints == [each for each in browser.complaints if _is_block(each)]


def _is_block(complaint: str) -> bool:
    """Return whether a complaint is that the sandbox of an archived copy stopped something."""
    return any(each in complaint for each in ("sandboxed", "Content Security Policy", "Refused to refresh"))


def _visit(browser: Browsing) -> None:
    """Open everything that shows content of the site."""
    places = [f"/crawl/evil/url?url={quote(HOSTILE.rstrip('/') + link, safe='')}" for link in ("/", *LINKS)]
    views = ["/", "/crawl/evil", "/crawl/evil/urls", "/crawl/evil/hosts", "/crawl/evil/search?q=distinctive"]
    sql = quote("select f.*, p.title, p.description, p.text from fetches f left join pages p using (url)")
    for place in (*views, *places, "/crawl/evil/reports?report=newest", f"/crawl/evil/sql?q={sql}"):
        page = browser.open(place)
        page.wait_for_timeout(300)
        _check_elements(page)
        show = page.get_by_role("button", name="Show the page")
        if show.count():
            show.click()
            page.wait_for_timeout(500)
            page.get_by_role("button", name="Show the source").click()
            page.wait_for_timeout(200)
            _check_elements(page)
        if page.get_by_role("button", name="All text").count():
            page.get_by_role("button", name="All text").click()
        assert page.url.startswith(browser.address)
        assert page.title().endswith("– Scoter")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


def _visit_job(browser: Browsing, job: str) -> None:
    """Open the views of a job whose options and log attack whoever shows them."""
    for place in (f"/crawl/evil/jobs/{job}", "/crawl/evil/jobs", "/crawl/evil/segments"):
        page = browser.open(place)
        if place.endswith("jobs"):
            page.get_by_text("onerror=alert('seed')").first.wait_for()
        _check_elements(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place


def _replay(browser: Browsing) -> None:
    """Open an archived page by its own address, without the frame of the interface around it, and what it links to."""
    page = browser.page
    for link in ("/", *LINKS[:2]):
        page.goto(f"{browser.address}/v1/crawls/evil/replay?url={quote(HOSTILE.rstrip('/') + link, safe='')}")
        page.wait_for_timeout(300)
        assert page.url.startswith(browser.address)
        assert page.locator("script, object, meta[http-equiv], a[href^='javascript:']").count() == 0
        inside = page.locator("a[href^='/v1/replays/']").first.get_attribute("href")
        page.goto(browser.address + inside)
        page.wait_for_timeout(300)
        assert page.url.startswith(browser.address)


def _check_elements(page: Any) -> None:
    """Check that every element of the page is one that the interface makes itself."""
    assert page.locator("main script, main img, main object, main meta, main base, main svg[onload]").count() == 0
    assert page.locator("main a[href^='javascript:'], main [onerror], main [onload], main [onmouseover]").count() == 0
