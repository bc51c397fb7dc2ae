"""Row functions on Spark: how they reach the processes of a cluster, and how their errors come back."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scoter import errors
from scoter.engine.ibis_compat import cast_batch
from scoter.errors import UserError
from scoter.plugins import pickles

_SENT = re.compile(r"scoter-error:([A-Za-z0-9+/=]+):")


def row_mapper(
    function: Callable[[Any], Any], given: Any, returned: Any, path: Sequence[str] = ()
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow`` that applies a function to each record batch.

    It is pickled once, and unpickled once per process. ``given`` is the schema of the batches that the function
    expects, ``returned`` the schema of those that it returns, ``path`` more folders to import modules from.
    """
    stored = pickles.dumps(function)

    def mapped(batches: Iterator[Any]) -> Iterator[Any]:
        sys.path += [each for each in path if each not in sys.path]
        try:
            found = pickles.loads(stored)
            for batch in batches:
                if batch.num_rows:
                    yield cast_batch(found(cast_batch(batch, given)), returned)
        except UserError as error:
            raise RuntimeError(_sent(error)) from error

    return mapped


def task_runner(
    function: Callable[[int], None], numbers: Sequence[int], path: Sequence[str] = ()
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function for ``mapInArrow`` over positions in ``numbers`` that calls another with each number."""
    stored = pickles.dumps(function)

    def called(batches: Iterator[Any]) -> Iterator[Any]:
        sys.path += [each for each in path if each not in sys.path]
        try:
            found = pickles.loads(stored)
            for batch in batches:
                for position in batch.column(0).to_pylist():
                    found(numbers[position])
        except UserError as error:
            raise RuntimeError(_sent(error)) from error
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
