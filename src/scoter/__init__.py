"""Scoter: a polite web crawler, in batches like Nutch and live like a link-preview service.

- ``fetch_pages``  URLs in, pages out, politely
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
