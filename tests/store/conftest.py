"""Imported before any test here: the reader silences the warnings of fastwarc on import."""

import scoter.store.warc.reader  # noqa: F401
