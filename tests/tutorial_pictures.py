"""Takes the pictures of tutorials whose servers are running: ``python -m tests.tutorial_pictures docs/images``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from tests.tutorials import Tutorial
from tests.ui.browsing import browsing

_WAIT = 3_000  # milliseconds, for what is loaded after a page is shown
_HOLD = "touch ready; until test -e done; do sleep 0.2; done"


def archive(page: Any) -> None:
    """Show the first page as it was archived, although the last round did not fetch it again."""
    page.goto("http://127.0.0.1:8010/#/crawl/museum/url?url=http%3A%2F%2Flocalhost%3A18080%2F")
    choice = page.get_by_label("Copy", exact=True)
    choice.wait_for()
    page.get_by_role("button", name="Show the page", exact=True).click()
    page.wait_for_timeout(_WAIT)
    page.get_by_role("heading", name="Archived copy").evaluate("each => each.scrollIntoView()")


def chat(page: Any) -> None:
    """Send messages with a page, a dead link and a page that robots do not read."""
    page.goto("http://localhost:18080/chat.html")
    for text in (
        "have you seen http://localhost:18080/lamp.html ?",
        "we meet here: http://localhost:18080/visit.html",
        "was it http://localhost:18080/lost.html or http://localhost:18080/keepers.html ?",
    ):
        page.get_by_label("Message").fill(text)
        page.get_by_role("button", name="Send").click()
        page.wait_for_timeout(_WAIT)
    page.get_by_label("Message").fill("thanks!")


PICTURES: dict[str, tuple[str, Callable[[Any], None], tuple[int, int]]] = {
    "archive-copy.png": ("archive.md", archive, (1000, 560)),
    "chat.png": ("link-previews.md", chat, (620, 640)),
}


def take(name: str, target: Path) -> None:
    """Run a tutorial until its servers would be stopped, and take its picture."""
    tutorial, show, (width, height) = PICTURES[name]
    with TemporaryDirectory() as made:
        folder = Path(made)
        running = Thread(target=Tutorial(tutorial, folder, own_ports=False).run, args=(_HOLD,))
        running.start()
        try:
            while running.is_alive() and not (folder / "ready").exists():
                time.sleep(0.2)
            with browsing("", viewport={"width": width, "height": height}) as browser:
                show(browser.page)
                browser.page.wait_for_timeout(_WAIT)
                browser.page.screenshot(path=target / name)
        finally:
            (folder / "done").touch()
            running.join()


if __name__ == "__main__":
    for picture in sys.argv[2:] or PICTURES:
        take(picture, Path(sys.argv[1]))
        print(Path(sys.argv[1]) / picture)
