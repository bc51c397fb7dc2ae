"""Imported before any test here: the reader silences what fastwarc says when it is first imported."""

import scoter.store.warc.reader  # noqa: F401
