"""Scoter: one polite crawler, in batches like Nutch and live like a link-preview service."""

from importlib.metadata import version as _version

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    # Reading the installed version costs milliseconds that most commands do not need.
    if name == "__version__":
        return _version("scoter")
    raise AttributeError(f"module 'scoter' has no attribute {name!r}")
