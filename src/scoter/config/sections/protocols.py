"""Protocols besides HTTP: local files, FTP and a browser for pages that need JavaScript."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class FileSettings(Section, frozen=True):
    """file: URLs; used only if fetch.protocols includes "file"."""

    content_limit: Annotated[
        Size | None, Setting("Maximum size of a file; a longer one is truncated.", nutch=("file.content.limit",))
    ] = Size(2**20)
    crawl_parent: Annotated[bool, Setting("Link a folder to the folder above it.", nutch=("file.crawl.parent",))] = True
    crawl_redirect_noncanonical: Annotated[
        bool,
        Setting("Redirect a path with a symbolic link to the real path.", nutch=("file.crawl.redirect_noncanonical",)),
    ] = True
    folders: Annotated[
        tuple[Path, ...],
        Setting(
            "Folders that may be read, including everything below them; empty means all.", example='["/srv/pages"]'
        ),
    ] = ()


class FtpSettings(Section, frozen=True):
    """ftp: URLs; used only if fetch.protocols includes "ftp"."""

    username: Annotated[str, Setting("User name.", nutch=("ftp.username",))] = "anonymous"
    password: Annotated[str, Setting("Password.", nutch=("ftp.password",), secret=True)] = "anonymous@example.com"  # noqa: S105 - what anonymous FTP expects, not a secret
    content_limit: Annotated[
        Size | None, Setting("Maximum size of a file; a longer one is truncated.", nutch=("ftp.content.limit",))
    ] = Size(2**20)
    timeout: Annotated[
        timedelta,
        Setting(
            "Timeout for connecting and for each wait for data.",
            nutch=("ftp.timeout",),
            nutch_unit="ms",
            at_least=timedelta(milliseconds=1),
        ),
    ] = timedelta(minutes=1)
    keep_connection: Annotated[
        bool, Setting("Use one connection for several files of a host.", nutch=("ftp.keep.connection",))
    ] = False


class BrowserSettings(Section, frozen=True):
    """A headless browser for pages that need JavaScript; used only if fetch.protocols includes "browser"."""

    url_patterns: Annotated[
        tuple[str, ...],
        Setting("Regular expressions for URLs of pages to render in the browser.", example='["^https://app\\\\."]'),
    ] = ()
    when_empty: Annotated[bool, Setting("Also render pages that have scripts and hardly any text.")] = False
    executable: Annotated[Path | None, Setting("Path of Chromium; empty means the first one found on the PATH.")] = None
    sandbox: Annotated[
        bool | None, Setting("Use Chromium's sandbox; auto means yes, unless running as root.", none="auto")
    ] = None
    page_load_delay: Annotated[
        timedelta,
        Setting("Maximum wait after a page has loaded until its scripts are idle.", nutch=("page.load.delay",)),
    ] = timedelta(seconds=3)
    javascript_timeout: Annotated[
        timedelta,
        Setting(
            "Maximum time that a page's scripts may run without a pause.",
            nutch=("htmlunit.javascript.timeout",),
            nutch_unit="ms",
            at_least=timedelta(milliseconds=100),
        ),
    ] = timedelta(milliseconds=3_500)
    timeout: Annotated[timedelta, Setting("Maximum time for rendering one page.", at_least=timedelta(seconds=1))] = (
        timedelta(seconds=60)
    )
    max_requests: Annotated[
        int, Setting("Maximum number of requests that one page may make.", at_least=0, at_most=100_000)
    ] = 200
    pages: Annotated[int, Setting("Concurrently open pages.", at_least=1, at_most=100)] = 4
    restart_after: Annotated[
        int, Setting("Pages after which the browser is restarted.", at_least=1, at_most=1_000_000)
    ] = 500
    memory_limit: Annotated[
        Size, Setting("Memory of the browser above which its largest page is closed.", at_least=2**29)
    ] = Size(2**31)
    headless: Annotated[
        bool, Setting("Run without a window.", nutch=("selenium.enable.headless",), departs="servers have no display")
    ] = True
