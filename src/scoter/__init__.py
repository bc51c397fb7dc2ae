"""Scoter: a polite web crawler, in batches like Nutch and live like a link-preview service.

``scoter.fetch_pages`` is the library interface: URLs in, pages out.

- ``api``       the records of the live service's HTTP API
- ``batch/``    batch crawls: one module per command
- ``builtin/``  the built-in plug-ins
- ``cli/``      the command line
- ``client/``   the Python client of the live service
- ``compose``   services, filters and stages
- ``config/``   the settings, and how they are loaded
- ``core/``     the rules of a crawl, as pure functions
- ``engine/``   where relational jobs run: DuckDB or Spark
- ``errors``    every exception
- ``fetch/``    the polite fetch core
- ``heap``      memory settings of long-running processes
- ``live/``     the live service
- ``parse/``    parsers: from bytes to pages
- ``plugins/``  extension points, and how plug-ins are loaded
- ``simweb/``   a synthetic web for demos, tests and benchmarks
- ``store/``    archive and tables on disk
- ``web/``      the HTTP API of the live service, and its processes
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoter.fetch.pages import WebPage, fetch_pages

__all__ = ["WebPage", "__version__", "fetch_pages"]

__version__: str


def __getattr__(name: str) -> Any:
    # Imported on first use, so that commands that do not need it start quickly.
    if name == "__version__":
        from importlib.metadata import version

        return version("scoter")
    if name in ("WebPage", "fetch_pages"):
        from scoter.fetch import pages

        return getattr(pages, name)
    raise AttributeError(f"module 'scoter' has no attribute {name!r}")
