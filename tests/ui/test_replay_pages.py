"""An archived copy in a real Chromium: its images, styles, frames and links are archived copies too."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.batch.api.server import serving_crawls
from tests.cli.conftest import run_in_process
from tests.fetch.browsers import needs_browser
from tests.ui.browsing import Browsing, browsing
from tests.ui.illustrated_site import CRAWLED, START, illustrated_site

pytestmark = needs_browser


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browsing]:
    """A person who has logged in with a key, before a crawl of a site that no longer exists."""
    with illustrated_site() as port:
        settings = ("fetch.delay=0", "agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{port}"]')
        done = run_in_process(tmp_path, "crawl", "old", *CRAWLED, "--rounds", "1", *(f"-D{each}" for each in settings))
    assert done.code == 0, done.err
    command = [sys.executable, "-m", "scoter.cli.main", "ui", str(tmp_path), "--new-key", "me", "--scopes", "read"]
    token = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    with serving_crawls(tmp_path, 1, "--with-keys") as address, browsing(address) as found:
        found.page.goto(address)
        found.page.get_by_label("API key").fill(token)
        found.page.get_by_role("button", name="Log in").click()
        found.page.get_by_role("link", name="old").wait_for()
        yield found


def test_a_copy_is_shown_with_its_images_styles_and_links(browser: Browsing) -> None:
    asked: list[str] = []
    browser.page.on("request", lambda request: asked.append(request.url))
    page = browser.open(f"/crawl/old/url?url={quote(START, safe='')}")
    page.get_by_role("button", name="Show the page").click()
    frame = page.frame_locator("iframe.replay")

    frame.get_by_text(f"Archived copy of {START}").wait_for()
    frame.frame_locator("#frame").get_by_text("Framed").wait_for()
    inside = next(each for each in page.frames if "/replay?" in each.url)
    inside.wait_for_load_state("load")
    widths = {name: frame.locator(f"#{name}").bounding_box()["width"] for name in ("dot", "lost", "outside")}
    assert widths == {"dot": 3, "lost": 120, "outside": 120}
    style = "each => [getComputedStyle(each).color, getComputedStyle(each).backgroundImage]"
    color, image = frame.locator("#styled").evaluate(style)
    assert (color, "/v1/replays/" in image) == ("rgb(1, 2, 3)", True)

    frame.get_by_role("link", name="Moved").click()
    frame.get_by_text("The new place").wait_for()
    frame.get_by_role("link", name="Back").click()
    frame.get_by_role("link", name="Never").click()
    frame.get_by_role("heading", name="This page is not archived").wait_for()

    assert asked
    assert all(each.startswith((browser.address, "data:")) for each in asked)
    assert browser.dialogs == []
    # Chromium complains about the scripts with which the test itself looks into the frame.
    assert [each for each in browser.complaints if "Blocked script execution" not in each] == []
