"""A Chromium with the web interface open; every complaint of the browser is kept."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scoter.fetch.protocols.chromium import NAMES


class Browsing:
    """A page of the interface at an address."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._note)
        page.on("dialog", self._dismiss)

    def _note(self, message: Any) -> None:
        # A refusal by the API is expected where a test provokes it; Chromium logs it all the same.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, place: str) -> Any:
        """Open a view by the part of its address after ``#``, and wait until it is shown."""
        self.page.goto(f"{self.address}/#{place}")
        self.page.reload()
        self.page.wait_for_selector("main:not([aria-busy]) h1")
        return self.page


@contextmanager
def browsing(address: str, **context: Any) -> Iterator[Browsing]:
    """Open a browser; ``context`` are options such as the size of its window."""
    start = importlib.import_module("playwright.sync_api").sync_playwright
    program = next(filter(None, map(shutil.which, NAMES)))
    with start() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            made = chromium.new_context(reduced_motion="reduce", **context)
            made.set_default_timeout(60_000)
            yield Browsing(made.new_page(), address)
        finally:
            chromium.close()


def axe_source() -> str | None:
    """Return the source of axe-core, if a package that contains it is installed."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        return None
    return (Path(found.origin).parent / "axe.min.js").read_text("utf-8")


def serious_findings(page: Any, axe: str) -> list[str]:
    """Return the serious and critical findings of axe-core on a page."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
    return [
        f"{each['id']}: {each['nodes'][0]['target']} {each['nodes'][0].get('failureSummary', '')}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
