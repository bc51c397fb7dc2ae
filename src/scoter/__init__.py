"""Scoter: a polite web crawler, in batches like Nutch and live like a link-preview service.

The library interface: ``scoter.fetch_pages`` fetches URLs, and ``scoter.search`` searches the index of a crawl.

- ``batch/``      batch crawls: jobs, and their REST API
- ``builtin/``    the built-in plug-ins
- ``cli/``        the command line
- ``client/``     the Python clients of both HTTP APIs
- ``compose``     services, filters and stages
- ``config/``     the settings, and how they are loaded
- ``core/``       the rules of a crawl, as pure functions
- ``engine/``     where relational jobs run: DuckDB or Spark
- ``errors``      every exception
- ``export/``     crawls as files: archives, rows, Markdown, databases
- ``extras``      how this installation gets an optional feature
- ``fetch/``      the polite fetch core
- ``heap``        memory settings of long-running processes
- ``http/``       what both HTTP APIs are made of
- ``index/``      documents, index writers and search
- ``live/``       the live service: pipeline, stores, HTTP API, processes
- ``native``      finds and checks the modules in C
- ``nutch/``      everything about Apache Nutch: its crawls, settings and commands
- ``parse/``      parsers: from bytes to pages
- ``plugins/``    extension points, and how plug-ins are loaded
- ``reports/``    named reports that crawls and services can answer
- ``secrets``     masks passwords and tokens in what is shown, logged and recorded
- ``simweb/``     a synthetic web for demos, tests and benchmarks
- ``sitesearch/`` a search box for a website
- ``store/``      archive and tables on disk
- ``ui/``         the web interface
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoter.fetch.pages import WebPage, fetch_pages
    from scoter.index.search import Searcher, SearchHit, SearchPage, search

__all__ = ["SearchHit", "SearchPage", "Searcher", "WebPage", "__version__", "fetch_pages", "search"]

__version__ = "0.1.0"
_MODULES = {
    **dict.fromkeys(("WebPage", "fetch_pages"), "scoter.fetch.pages"),
    **dict.fromkeys(("SearchHit", "SearchPage", "Searcher", "search"), "scoter.index.search"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use, so that commands that do not need it start quickly.
    if name in _MODULES:
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'scoter' has no attribute {name!r}")
