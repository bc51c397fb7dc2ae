"""Protocols besides HTTP: local files, FTP and a browser for pages that need JavaScript."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class FileSettings(Section, frozen=True):
    """file: URLs; used only when fetch.protocols names "file"."""

    content_limit: Annotated[
        Size | None,
        Setting("Bytes of a file that are kept; a longer one is cut.", nutch=("file.content.limit",)),
    ] = Size(2**20)
    crawl_parent: Annotated[bool, Setting("Link a folder to the folder above it.", nutch=("file.crawl.parent",))] = True
    crawl_redirect_noncanonical: Annotated[
        bool,
        Setting(
            "Answer a path through a symbolic link with a redirect to the real one.",
            nutch=("file.crawl.redirect_noncanonical",),
        ),
    ] = True
    folders: Annotated[
        tuple[Path, ...],
        Setting(
            "Folders that may be read, with all below them and whatever links lead there; none means all.",
            example='["/srv/pages"]',
        ),
    ] = ()


class FtpSettings(Section, frozen=True):
    """ftp: URLs; used only when fetch.protocols names "ftp"."""

    username: Annotated[str, Setting("User name.", nutch=("ftp.username",))] = "anonymous"
    password: Annotated[str, Setting("Password.", nutch=("ftp.password",), secret=True)] = "anonymous@example.com"  # noqa: S105 - what anonymous FTP expects, not a secret
    content_limit: Annotated[
        Size | None,
        Setting("Bytes of a file that are kept; a longer one is cut.", nutch=("ftp.content.limit",)),
    ] = Size(2**20)
    timeout: Annotated[
        timedelta,
        Setting(
            "Longest wait for a connection and for the next bytes.",
            nutch=("ftp.timeout",),
            nutch_unit="ms",
            at_least=timedelta(milliseconds=1),
        ),
    ] = timedelta(minutes=1)
    keep_connection: Annotated[
        bool,
        Setting("Use one connection for several files of a host.", nutch=("ftp.keep.connection",)),
    ] = False


class BrowserSettings(Section, frozen=True):
    """A headless browser for pages that need JavaScript; used only when fetch.protocols names "browser"."""

    url_patterns: Annotated[
        tuple[str, ...],
        Setting("Regular expressions of URLs that are fetched by the browser.", example='["^https://app\\\\."]'),
    ] = ()
    when_empty: Annotated[bool, Setting("Fetch a page again by the browser when it has scripts but no text.")] = False
    executable: Annotated[
        Path | None,
        Setting("The Chromium to run; none takes the first of its names that is on the PATH."),
    ] = None
    sandbox: Annotated[
        bool | None,
        Setting("Lock pages into Chromium's own sandbox; auto does unless it runs as root.", none="auto"),
    ] = None
    page_load_delay: Annotated[
        timedelta,
        Setting(
            "Longest wait after a page has loaded until its scripts ask for nothing more.", nutch=("page.load.delay",)
        ),
    ] = timedelta(seconds=3)
    javascript_timeout: Annotated[
        timedelta,
        Setting(
            "Longest time that a page's scripts may run at a stretch.",
            nutch=("htmlunit.javascript.timeout",),
            nutch_unit="ms",
            at_least=timedelta(milliseconds=100),
        ),
    ] = timedelta(milliseconds=3_500)
    timeout: Annotated[
        timedelta,
        Setting("Longest time for the rendering of one page in all.", at_least=timedelta(seconds=1)),
    ] = timedelta(seconds=60)
    max_requests: Annotated[
        int,
        Setting("Scripts, styles and data that one page may ask for.", at_least=0, at_most=100_000),
    ] = 200
    pages: Annotated[int, Setting("Pages open at once.", at_least=1, at_most=100)] = 4
    restart_after: Annotated[
        int,
        Setting("Pages after which the browser is started anew.", at_least=1, at_most=1_000_000),
    ] = 500
    memory_limit: Annotated[
        Size, Setting("Memory of the browser, above which its largest page is ended.", at_least=2**29)
    ] = Size(2**31)
    headless: Annotated[
        bool,
        Setting(
            "Show no window.",
            nutch=("selenium.enable.headless",),
            departs="a server has no screen",
        ),
    ] = True
