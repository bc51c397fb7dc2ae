"""What a person does with the search box, in a real Chromium: on a page of another site, and over files."""

from __future__ import annotations

import functools
import http.server
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.fetch.browsers import needs_browser
from tests.index.indexes import document
from tests.sitesearch.servers import GUIDE, make_index
from tests.ui.browsing import Browsing, axe_source, browsing, serious_findings

from scoter.batch.crawldir.directory import CrawlDir
from scoter.sitesearch.box_files import box_file
from scoter.sitesearch.site_files import write_site_files
from scoter.sitesearch.words import fold, tokens

pytestmark = needs_browser
HITS = "scoter-search a[role=option]"
STATUS = "scoter-search [role=status]"
POLICY = "default-src 'none'; style-src 'self'; script-src {0}; connect-src {0}; require-trusted-types-for 'script'"
HOSTILE_TITLE = "<img src=x onerror=alert(1)> Gulls"
HOSTILE_TEXT = "Gulls <script>alert(2)</script> follow </mark> the fishing boats &lt;b&gt; home."
PAGES = [
    GUIDE,
    document("http://docs.test/seals.html", "Grey seals", "Grey seals rest on the sand banks."),
    document("http://docs.test/walrus.html", "The walrus", "A walrus is larger than any of the seals."),
    document("http://docs.test/gulls.html", HOSTILE_TITLE, HOSTILE_TEXT),
    document("javascript:alert(3)", "Otters", "Otters never run."),
    document("http://docs.test/häuser.html", "Häuser", "Die Robben wohnten in Häusern am Strand.", lang="de"),
    document("http://docs.test/tokyo.html", "東京タワー", "東京タワーは東京にあります。", lang="ja"),
    document("http://docs.test/cpp.html", "C++ and C", "A page about C++ rather than C."),
]


class Site(http.server.SimpleHTTPRequestHandler):
    """The reader's own site, below a path, with a strict policy; ``script`` is the tag on its page."""

    tag = ""
    policy = ""
    style = "body { font-size: 40px } a, button, dialog { display: none !important; color: red !important }"

    def do_GET(self) -> None:
        if self.path.startswith("/docs/page.html"):
            self._send(
                f'<!doctype html><html lang="en"><title>Docs</title><link rel="stylesheet" href="style.css">{self.tag}'
                '<main><h1>Docs</h1><input aria-label="Name"></main>',
                "text/html; charset=utf-8",
            )
        elif self.path == "/docs/style.css":
            self._send(self.style, "text/css")
        elif self.path.startswith("/docs/") and self.path.endswith(".html") and "/search/" not in self.path:
            self._send('<!doctype html><html lang="en"><title>A page</title><h1>A page</h1>', "text/html")
        else:
            super().do_GET()

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/docs"))

    def _send(self, body: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", self.policy)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Write no log."""


@contextmanager
def site(folder: Path) -> Iterator[tuple[str, type[Site]]]:
    """Serve a site; yield its origin and the class that answers."""
    own = type("OwnSite", (Site,), {})
    handler = functools.partial(own, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", own
        finally:
            server.shutdown()


@contextmanager
def search_server(crawl: Path, *options: str) -> Iterator[str]:
    """Run `scoter search-server`; yield its address."""
    command = [sys.executable, "-m", "scoter.cli.main", "search-server", str(crawl), "--port", "0", "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box") / "crawl"
    folder.mkdir()
    CrawlDir.create(str(folder), datetime.now(UTC))
    make_index(folder, PAGES)
    return folder


@pytest.fixture(scope="module", params=["server", "files"])
def docs(request: pytest.FixtureRequest, crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with the box, which searches a server or files."""
    folder = tmp_path_factory.mktemp("site")
    with site(folder) as (origin, own):
        if request.param == "files":
            from scoter.sitesearch.hits import AddressMap

            write_site_files(
                crawl / "index", folder / "search", addresses=AddressMap([("http://docs.test/", "/docs/")])
            )
            own.tag = '<script src="search/search-box.js" data-files defer></script>'
            own.policy = POLICY.format("'self'")
            yield f"{origin}/docs/page.html"
            return
        options = ("--origin", origin, "--map-url", "http://docs.test/", f"{origin}/docs/", "--rate", "1000")
        with search_server(crawl, *options) as address:
            own.tag = f'<script src="{address}search-box.js" defer></script>'
            own.policy = POLICY.format(address)
            yield f"{origin}/docs/page.html"


@pytest.fixture
def browser(docs: str) -> Iterator[Browsing]:
    with browsing(docs) as found:
        found.page.goto(docs)
        found.page.wait_for_selector("scoter-search button")
        yield found
        assert found.complaints == []
        assert found.dialogs == []


def asked(page: Any, query: str) -> list[str]:
    """Open the box, type a query, and return the titles that are found."""
    page.keyboard.press("Control+k")
    page.keyboard.type(query)
    page.wait_for_selector("scoter-search [role=listbox]:not([aria-busy])", state="attached")
    return [each.inner_text() for each in page.locator(f"{HITS} .title").all()]


def test_a_person_searches_by_keyboard_alone(browser: Browsing) -> None:
    page = browser.page

    page.keyboard.press("/")
    page.keyboard.type("seal")
    page.wait_for_selector("scoter-search [role=listbox]:not([aria-busy]) [role=option]")
    combobox = page.get_by_role("combobox")
    first = combobox.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    second = combobox.get_attribute("aria-activedescendant")
    chosen = page.get_by_role("option", selected=True)
    assert chosen.count() == 1
    title = chosen.locator(".title").inner_text()
    page.keyboard.press("ArrowDown")
    assert combobox.get_attribute("aria-activedescendant") == first
    page.keyboard.press("ArrowUp")
    assert combobox.get_attribute("aria-activedescendant") == second
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/docs/(seals|walrus)\.html$"))

    assert title in ("Grey seals", "The walrus")
    assert ("seals" in page.url) == (title == "Grey seals")


def test_box_keeps_the_focus_until_escape_and_gives_it_back(browser: Browsing) -> None:
    page = browser.page
    focused = "document.querySelector('scoter-search').shadowRoot.activeElement?.tagName"
    page.get_by_role("textbox", name="Name").focus()
    page.keyboard.press("/")  # typed into the field of the page
    assert page.locator("scoter-search dialog[open]").count() == 0

    page.keyboard.press("Control+k")
    order = []
    for _ in range(4):
        order.append(page.evaluate(focused))
        page.keyboard.press("Tab")
    page.keyboard.press("Escape")

    assert order == ["INPUT", "BUTTON", "INPUT", "BUTTON"]
    assert page.locator("scoter-search dialog[open]").count() == 0
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Name"


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("resting seal", "Grey seals"),
        ("walr", "The walrus"),
        ("waltrus", "The walrus"),
        ("seals -walrus", "Grey seals"),
        ("häuser", "Häuser"),
        ("hausern robbe", "Häuser"),
        ("東京", "東京タワー"),
    ],
)
def test_words_are_found_in_other_forms_by_their_beginning_and_misspelled(
    browser: Browsing, query: str, title: str
) -> None:
    assert asked(browser.page, query) == [title]


def test_result_leads_to_the_section_that_answers(browser: Browsing) -> None:
    page = browser.page

    assert asked(page, "moulting") == ["The coat"]
    path = page.locator(f"{HITS} .path").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/docs/guide\.html#coat$"))

    assert path == "Guide › Care"


def test_text_of_pages_is_never_markup_and_no_address_runs_a_script(browser: Browsing) -> None:
    page = browser.page

    assert asked(page, "gulls") == [HOSTILE_TITLE]
    text = page.locator(f"{HITS} .text").inner_text()
    marked = page.locator(f"{HITS} mark").all_inner_texts()
    page.keyboard.press("Escape")
    assert asked(page, "otters") == ["Otters"]
    page.keyboard.press("Enter")

    assert "<script>alert(2)</script>" in text
    assert marked == ["Gulls"]
    assert page.locator(HITS).get_attribute("href") is None
    assert page.url.endswith("/docs/page.html")


def test_queries_that_find_nothing_say_so(browser: Browsing) -> None:
    assert asked(browser.page, "zebra xylophone") == []

    assert browser.page.locator(STATUS).inner_text() == "No page matches."
    assert browser.page.get_by_role("combobox").get_attribute("aria-expanded") == "false"


def test_styles_of_the_page_do_not_reach_the_box(browser: Browsing) -> None:
    asked(browser.page, "seals")

    styles = browser.page.evaluate(
        "() => { const root = document.querySelector('scoter-search').shadowRoot;"
        " const of = (each) => getComputedStyle(root.querySelector(each));"
        " return [of('a').display, of('a').color, of('dialog').display]; }"
    )
    assert styles[0] == "block"
    assert styles[1] != "rgb(255, 0, 0)"
    assert styles[2] == "flex"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_box_has_no_axe_findings(docs: str, scheme: str) -> None:
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is not installed")
    with browsing(docs, color_scheme=scheme, viewport={"width": 380, "height": 700}, bypass_csp=True) as found:
        page = found.page
        page.goto(docs)
        page.wait_for_selector("scoter-search button")
        before = serious_findings(page, axe)
        asked(page, "seals")
        after = serious_findings(page, axe)
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")

    assert before == []
    assert after == []
    assert not wide


def test_server_says_when_to_search_again_and_the_box_waits(crawl: Path) -> None:
    with search_server(crawl, "--rate", "0.2") as address, browsing(address) as found:
        page = found.page
        page.goto(address)
        page.wait_for_selector("scoter-search button")
        asked(page, "seals")
        page.get_by_role("combobox").fill("gulls")
        page.wait_for_selector(f"{STATUS}:has-text('Searching again')")
        page.wait_for_selector(f"{HITS} .title:has-text('Gulls')")


def test_page_without_a_permitted_origin_is_told(crawl: Path, tmp_path: Path) -> None:
    with search_server(crawl) as address, site(tmp_path) as (origin, own):
        own.tag = f'<script src="{address}search-box.js" defer></script>'
        own.policy = POLICY.format(address)
        with browsing(origin) as found:
            found.page.goto(f"{origin}/docs/page.html")
            found.page.wait_for_selector("scoter-search button")
            found.page.keyboard.press("Control+k")
            found.page.keyboard.type("seals")
            found.page.wait_for_selector(f"{STATUS}:has-text('cannot be reached')")


SAMPLES = (
    "Grey Seals, naïve Straße ÆØÅ İstanbul",
    "C++ C# F# a#b g++x ++ std::vector .NET f() ~/.bashrc __init__ x_y",
    "東京タワーは東京 Tokyo塔 한국어 ภาษาไทย が ガ",
    "हिन्दी العربية ελληνικά Œuvre ½ ² ﬁn Ⅳ",
    "e\u0301te\u0301 don't 3.14 v2.0-rc1 " + "x" * 50,
    "𠀀𠀁𠀂 𝐀𝐁 🦭 seal🦭s",
)


def test_script_cuts_text_into_the_same_words_as_the_index(tmp_path: Path) -> None:
    source = box_file("search-files.js").decode().replace("export class", "class") + "\nglobalThis.cut = words;"
    with browsing("about:blank") as found:
        found.page.goto("about:blank")
        found.page.add_script_tag(content=source)
        for text in SAMPLES:
            cut = found.page.evaluate(
                "(text) => [...cut(text)].map((each) => [each.word, text.slice(each.at, each.to)])", text
            )

            assert cut == [[fold(each), each] for each in tokens(text)], text
