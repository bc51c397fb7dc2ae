"""Takes a picture of every view: ``python -m tests.ui.screenshots FOLDER``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from tests.batch.api.server import serving_crawls
from tests.live.service.running import pages, service
from tests.ui.browsing import browsing

from scoter.client import CrawlClient
from scoter.simweb import WebSpec, running

SHAPES = {"wide": (1200, 800, "light"), "dark": (1200, 800, "dark"), "phone": (380, 800, "light")}
_WAIT = 3_000  # milliseconds, for what is loaded after a view is shown


def batch_views(seed: str, job: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return views by name: their address, and the buttons to press there."""
    url = quote(seed, safe="")
    return {
        "crawls": ("/", ()),
        "new-crawl": ("/new", ()),
        "crawl": ("/crawl/news", ()),
        "running-crawl": ("/crawl/more", ()),
        "urls": ("/crawl/news/urls", ()),
        "hosts": ("/crawl/news/hosts", ()),
        "segments": ("/crawl/news/segments", ()),
        "url": (f"/crawl/news/url?url={url}", ("Show the page", "Main text")),
        "url-headers": (f"/crawl/news/url?url={url}", ("Show the headers",)),
        "unknown-url": (f"/crawl/news/url?url={url}nothing", ()),
        "search": ("/crawl/news/search?q=river", ()),
        "reports": ("/crawl/news/reports?report=errors", ()),
        "sql": ("/crawl/news/sql", ("Run",)),
        "sql-plot": ("/crawl/news/sql", ("Run", "Plot")),
        "sql-error": ("/crawl/news/sql?q=select%20nothing", ()),
        "jobs": ("/crawl/news/jobs", ()),
        "job": (f"/crawl/news/jobs/{job}", ()),
        "merge": ("/merge", ()),
        "import": ("/import", ()),
        "schedules": ("/schedules", ()),
        "keys": ("/keys", ()),
        "not-found": ("/nowhere", ()),
    }


def take_batch(folder: Path) -> None:
    """Crawl a synthetic web and take pictures of the interface."""
    with TemporaryDirectory() as made:
        crawls = Path(made) / "crawls"
        crawls.mkdir()
        with (
            running(WebSpec(hosts=12, pages=300, faults=True, latency=0.05)) as web,
            serving_crawls(crawls, web.port) as address,
        ):
            seeds = web.web.seeds()
            with CrawlClient(address, timeout=120) as client:
                client.create("news", seeds, rounds=3, scope="any", index=True)
                for event in client.watch("news", after=0):
                    if getattr(event, "state", "") in ("succeeded", "failed"):
                        break
                first = client.jobs("news")[0].id
                client.schedule("news", "7d", rounds=1)
                slow = {"fetch.threads": 1, "fetch.delay": "1s"}
                client.create("more", seeds, until_done=True, scope="any", settings=slow)
            for shape, (width, height, scheme) in SHAPES.items():
                size = {"width": width, "height": height}
                with browsing(address, color_scheme=scheme, viewport=size) as browser:
                    for name, (place, buttons) in batch_views(seeds[0], first).items():
                        page = browser.open(place)
                        for button in buttons:
                            page.get_by_role("button", name=button, exact=True).click()
                            page.wait_for_timeout(_WAIT)
                        page.wait_for_timeout(_WAIT)
                        _take(page, folder / f"{name}-{shape}.png", width, height)
            with CrawlClient(address, timeout=120) as client:
                client.stop("more", client.jobs("more")[0].id, how="kill")


def _take(page: Any, file: Path, width: int, height: int) -> None:
    """Take a picture of a whole page, in a window of that height: Chromium does not repaint frames for it."""
    if page.locator("iframe").count():
        page.set_viewport_size({"width": width, "height": page.evaluate("document.body.scrollHeight")})
        page.wait_for_timeout(_WAIT)
    page.screenshot(path=file, full_page=True)
    page.set_viewport_size({"width": width, "height": height})


LIVE_VIEWS = {
    "live-dashboard": "/",
    "live-submit": "/submit",
    "live-lookup": "/url?url=URL",
    "live-unknown-url": "/url?url=http://unknown.test/",
    "live-events": "/events?after=0",
    "live-domains": "/domains",
    "live-domain": "/domains?domain=grebe0.test",
    "live-deliveries": "/deliveries",
    "live-keys": "/keys",
}


def take_live(folder: Path) -> None:
    """Run a live service over a synthetic web and take pictures of the interface."""
    spec = WebSpec(hosts=20, pages=200, faults=True, latency=0.05)
    urls = pages(spec, 60)
    with TemporaryDirectory() as made, running(spec) as web, service(Path(made) / "live", web.port) as live:
        live.ask("PUT", "/v1/domains/slow.test", {"delay": 30, "note": "asked us to be slow"})
        for at, url in enumerate(urls):
            # The synthetic web takes no POST, so every delivery fails.
            told = {"callback": "http://hooks.test/"} if at == 0 else {}
            live.submit(url, urls[0], force=True, id=str(at), **told)
            time.sleep(0.5)
        for shape, (width, height, scheme) in SHAPES.items():
            size = {"width": width, "height": height}
            with browsing(f"http://127.0.0.1:{live.port}", color_scheme=scheme, viewport=size) as browser:
                for name, place in LIVE_VIEWS.items():
                    page = browser.open(place.replace("URL", quote(urls[0], safe="")))
                    if name == "live-submit":
                        page.get_by_label("Message").fill(f"look at {urls[0]}, {urls[1]} and gopher://old.test/")
                        page.get_by_role("button", name="Submit").click()
                    page.wait_for_timeout(_WAIT)
                    _take(page, folder / f"{name}-{shape}.png", width, height)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    take_batch(target)
    take_live(target)
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")
