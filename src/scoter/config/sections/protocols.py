"""Protocols besides HTTP: local files, FTP and a browser for pages that need JavaScript."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path

from scoter.config.settings import SAME_NAME, Section, setting
from scoter.config.units import Size


class FileSettings(Section, frozen=True):
    """file: URLs; used only if fetch.protocols includes "file"."""

    content_limit: Size | None = setting(
        Size(2**20), "Maximum size of a file; a longer one is truncated.", nutch=SAME_NAME
    )
    crawl_parent: bool = setting(True, "Link a folder to the folder above it.", nutch=SAME_NAME)
    crawl_redirect_noncanonical: bool = setting(
        True, "Redirect a path with a symbolic link to the real path.", nutch=("file.crawl.redirect_noncanonical",)
    )
    folders: tuple[Path, ...] = setting(
        (), "Folders that may be read, including everything below them; empty means all.", example='["/srv/pages"]'
    )


class FtpSettings(Section, frozen=True):
    """ftp: URLs; used only if fetch.protocols includes "ftp"."""

    username: str = setting("anonymous", "User name.", nutch=SAME_NAME)
    password: str = setting("anonymous@example.com", "Password.", nutch=SAME_NAME, secret=True)
    content_limit: Size | None = setting(
        Size(2**20), "Maximum size of a file; a longer one is truncated.", nutch=SAME_NAME
    )
    timeout: timedelta = setting(
        timedelta(minutes=1),
        "Timeout for connecting and for each wait for data.",
        nutch=SAME_NAME,
        nutch_unit="ms",
        at_least=timedelta(milliseconds=1),
    )
    keep_connection: bool = setting(False, "Use one connection for several files of a host.", nutch=SAME_NAME)


class BrowserSettings(Section, frozen=True):
    """A headless browser for pages that need JavaScript; used only if fetch.protocols includes "browser"."""

    url_patterns: tuple[str, ...] = setting(
        (), "Regular expressions for URLs of pages to render in the browser.", example='["^https://app\\\\."]'
    )
    when_empty: bool = setting(False, "Also render pages that have scripts and hardly any text.")
    executable: Path | None = setting(None, "Path of Chromium; empty means the first one found on the PATH.")
    sandbox: bool | None = setting(None, "Use Chromium's sandbox; auto means yes, unless running as root.", none="auto")
    page_load_delay: timedelta = setting(
        timedelta(seconds=3),
        "Maximum wait after a page has loaded until its scripts are idle.",
        nutch=("page.load.delay",),
    )
    javascript_timeout: timedelta = setting(
        timedelta(milliseconds=3_500),
        "Maximum time that a page's scripts may run without a pause.",
        nutch=("htmlunit.javascript.timeout",),
        nutch_unit="ms",
        at_least=timedelta(milliseconds=100),
    )
    timeout: timedelta = setting(
        timedelta(seconds=60), "Maximum time for rendering one page.", at_least=timedelta(seconds=1)
    )
    max_requests: int = setting(200, "Maximum number of requests that one page may make.", at_least=0, at_most=100_000)
    pages: int = setting(4, "Concurrently open pages.", at_least=1, at_most=100)
    restart_after: int = setting(500, "Pages after which the browser is restarted.", at_least=1, at_most=1_000_000)
    memory_limit: Size = setting(
        Size(2**31), "Memory of the browser above which its largest page is closed.", at_least=2**29
    )
    headless: bool = setting(
        True, "Run without a window.", nutch=("selenium.enable.headless",), departs="servers have no display"
    )
