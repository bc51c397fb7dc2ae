"""Row functions on Spark: how they reach the processes of a cluster, and how their errors come back."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scoter import errors
from scoter.engine.batches import cast_batch
from scoter.errors import UserError
from scoter.plugins import pickles

_SENT = re.compile(r"scoter-error:([A-Za-z0-9+/=]+):")


Mapper = Callable[[Iterator[Any]], Iterator[Any]]
"""A function for ``mapInArrow``."""


def sent(function: Mapper, path: Sequence[str] = ()) -> Mapper:
    """Return a function that calls another one on an executor, and sends its errors back.

    It is pickled once, and unpickled once per process. ``path`` are more folders to import modules from.
    """
    stored = pickles.dumps(function)

    def called(batches: Iterator[Any]) -> Iterator[Any]:
        sys.path += [each for each in path if each not in sys.path]
        try:
            yield from pickles.loads(stored)(batches)
        except UserError as error:
            raise RuntimeError(_sent(error)) from error

    return called


def row_mapper(function: Callable[[Any], Any], given: Any, returned: Any) -> Mapper:
    """Return a function that applies another one to each record batch.

    ``given`` is the schema of the batches that the function expects, ``returned`` that of those that it returns.
    """

    def mapped(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                yield cast_batch(function(cast_batch(batch, given)), returned)

    return mapped


def task_runner(function: Callable[[int], None], numbers: Sequence[int]) -> Mapper:
    """Return a function that gets positions in ``numbers``, and calls another one with each of these numbers."""

    def called(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for position in batch.column(0).to_pylist():
                function(numbers[position])
        yield from ()

    return called


def _sent(error: UserError) -> str:
    values = [type(error).__name__, error.message, error.where, error.hint]
    return f"scoter-error:{base64.b64encode(json.dumps(values).encode()).decode()}:"


def raise_sent_error(text: str) -> None:
    """Raise the error that a row function raised, if Spark's message has one."""
    if (found := _SENT.search(text)) is None:
        return
    name, message, where, hint = json.loads(base64.b64decode(found[1]))
    kind = getattr(errors, name, UserError)
    error = kind.__new__(kind)
    UserError.__init__(error, message, where=where, hint=hint)
    raise error
