"""Scoter: one polite crawler, in batches like Nutch and live like a link-preview service."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Imported here because it takes 50 ms that most commands need not spend.
        from importlib.metadata import version

        return version("scoter")
    raise AttributeError(f"module 'scoter' has no attribute {name!r}")
