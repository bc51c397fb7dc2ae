"""What a person does with the web interface of `scoter serve`, in a real Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.fetch.browsers import needs_browser
from tests.live.service.running import Service, pages, service
from tests.ui.browsing import Browsing, axe_source, browsing, serious_findings
from tests.ui.hostile_site import hostile_site

from scoter.live.service.api_keys import make_key
from scoter.live.service.plan import ServiceFolder
from scoter.simweb import WebSpec, running

pytestmark = needs_browser
SPEC = WebSpec(hosts=20, pages=60, page_bytes=2_000)
PAGES = pages(SPEC, 4)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(SPEC) as web, service(tmp_path_factory.mktemp("live") / "new", web.port) as started:
        yield started


@pytest.fixture
def browser(live: Service) -> Iterator[Browsing]:
    with browsing(f"http://127.0.0.1:{live.port}") as found:
        yield found
        assert found.complaints == []
        assert found.dialogs == []


def test_a_message_is_submitted_and_its_cards_appear(browser: Browsing) -> None:
    page = browser.open("/submit")
    page.get_by_label("Message").fill(f"look at {PAGES[0]} and {PAGES[1]}")
    page.get_by_role("button", name="Submit").click()

    page.locator(".card .state.ok").nth(1).wait_for()
    page.locator(".card a").first.click()
    page.get_by_role("heading", name="Record").wait_for()
    assert '"state": "ok"' in page.locator("pre").inner_text()

    browser.open("/events?after=0")
    page.get_by_role("link", name=PAGES[0]).wait_for()
    page.get_by_label("Filter").fill("nothing like this")
    page.get_by_text("No event matches.").wait_for()
    page.reload()  # the address has the filter
    page.get_by_text("No event matches.").wait_for()


def test_the_dashboard_shows_the_last_hour_after_a_reload(browser: Browsing, live: Service) -> None:
    live.submit(PAGES[2], id="shown")
    page = browser.open("/")
    page.get_by_role("img", name="Finished URLs in per second").wait_for(timeout=60_000)
    page.reload()
    page.get_by_role("img", name="Finished URLs in per second").wait_for()
    page.get_by_role("cell", name="resolve").wait_for()


def test_a_domain_is_blocked_and_unblocked(browser: Browsing, live: Service) -> None:
    page = browser.open("/domains?domain=blocked.test")
    page.get_by_label("Blocked").check()
    page.get_by_label("Note").fill("<b>asked</b> us to stop")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Remove the rule").wait_for()
    assert live.get("/v1/domains/blocked.test").json["blocked"] is True

    browser.open("/domains")
    page.get_by_role("cell", name="<b>asked</b> us to stop").wait_for()
    page.get_by_role("link", name="blocked.test").click()
    page.get_by_role("button", name="Remove the rule").click()
    page.get_by_role("button", name="Remove the rule").wait_for(state="detached")
    assert live.get("/v1/domains/blocked.test").json == {"domain": "blocked.test"}


def test_a_delivery_that_failed_is_inspected_and_sent_again(browser: Browsing, live: Service) -> None:
    # The synthetic web takes no POST, so every delivery fails.
    assert live.submit(PAGES[3], id="told", callback="http://hooks.test/?<img src=x onerror=alert(1)>").status == 202

    live.wait_for(lambda: live.get("/v1/deliveries").json["deliveries"])
    page = browser.open("/deliveries")
    row = page.get_by_role("row").filter(has_text="http://hooks.test/")
    row.get_by_text(PAGES[3]).wait_for()
    row.get_by_text("status 405").wait_for()
    row.get_by_role("button", name="Send to http://hooks.test/").click()
    page.locator("#status").get_by_text("It is sent again.").wait_for(state="attached")
    page.get_by_role("button", name="Reload").click()
    row.wait_for()
    assert page.get_by_role("alert").count() == 0
    assert page.locator("main img, main [onerror]").count() == 0


def test_no_live_view_has_serious_axe_findings_or_overflows_a_phone(live: Service) -> None:
    axe = axe_source()
    found: list[str] = []
    with browsing(f"http://127.0.0.1:{live.port}", viewport={"width": 360, "height": 740}) as browser:
        for place in (
            "/",
            "/submit",
            f"/url?url={PAGES[0]}",
            "/events?after=0",
            "/domains?domain=a.test",
            "/deliveries",
            "/keys",
        ):
            page = browser.open(place)
            if axe is not None:
                found += (f"{place} {each}" for each in serious_findings(page, axe))
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{place} is wider than a phone")
    assert found == []


def test_a_session_replaces_the_key_in_every_process(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    _, token = asyncio.run(make_key(ServiceFolder(folder), "me", ["admin"], None))
    with (
        hostile_site() as port,
        service(folder, port, options=["--with-keys"]) as live,
        browsing(f"http://127.0.0.1:{live.port}") as browser,
    ):
        page = browser.open("/submit")
        page.get_by_label("API key").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Message").fill("http://www.hostile.test/ http://www.hostile.test/error")
        page.get_by_role("button", name="Submit").click()
        page.locator(".card .state.ok").wait_for()
        page.locator(".card a").first.click()
        page.get_by_role("heading", name="Record").wait_for()
        browser.open("/events?after=0")
        page.get_by_role("link", name="http://www.hostile.test/", exact=True).wait_for()
        url = quote("http://www.hostile.test/?'\"><img src=x onerror=alert(1)>", safe="")
        for place in ("/events?after=0", "/", "/domains", f"/url?url={url}", "/domains?domain=%3Cimg%20src=x%3E"):
            browser.open(place)
            if place == "/":  # the activity of domains, with why they are paused
                page.get_by_role("link", name="hostile.test").first.wait_for()
            assert page.locator("main script, main img, main [onerror], main a[href^='javascript:']").count() == 0
        assert browser.dialogs == []
        assert browser.complaints == []
