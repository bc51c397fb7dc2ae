"""Imported before any test here: the reader silences the warnings of fastwarc on import. Spark runs only on request."""

from tests.engine.engines import pytest_collection_modifyitems

import scoter.store.warc.reader  # noqa: F401

__all__ = ["pytest_collection_modifyitems"]
