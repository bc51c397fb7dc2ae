"""Decodes content codings up to a limit: gzip, deflate, br and zstd, also on top of each other.

No layer is decoded beyond the limit, so a decompression bomb costs no more than that. If a body is damaged, what comes
before the damage is kept, and the result counts as truncated. A body that is not in the coding it claims, or in an
unknown one, is returned unchanged, as browsers do. ``problem`` says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from scoter.core.reply import Truncation
from scoter.fetch.decode_streams import LIBRARY_ERRORS, DamagedBody, Opener, TrailingData, openers

MAX_LAYERS = 5  # two are rare, three were never meant
CEILING = 256 * 2**20  # bytes, if the limit is off: the server must not choose the decoded size

_STEP = 256 * 1024
_FINER_STEPS = (512, 1)
_FIELD = "content-encoding"
_LENGTH = len(_FIELD)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # bytes that no text contains (MIME Sniffing 3)
_ALIASES = {"x-gzip": "gzip", "x-deflate": "deflate"}


class DecodedBody(Struct, frozen=True):
    """A decoded body; ``problem`` says what is wrong with it.

    ``truncation`` is ``LENGTH`` if the limit ended it, and ``UNSPECIFIED`` if it is damaged or ends early.
    """

    body: bytes
    truncation: Truncation = Truncation.NOT
    problem: str = ""


class _Undecodable(Exception):
    """A body could not be decoded at all."""


def is_binary(body: bytes) -> bool:
    """Tell whether a body contains bytes that no text contains."""
    return _BINARY.search(body) is not None


def content_codings(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the codings of a response in the order in which they were applied, from all fields.

    >>> content_codings([("Content-Encoding", "br, identity"), ("content-encoding", "X-GZIP")])
    ('br', 'gzip')
    """
    values = [value for name, value in headers if len(name) == _LENGTH and name.lower() == _FIELD]
    if not values:
        return ()
    tokens = (token.strip().lower() for token in ",".join(values).split(","))
    return tuple(_ALIASES.get(token, token) for token in tokens if token not in ("", "identity"))


def decode(body: bytes, codings: Iterable[str], limit: int | None) -> DecodedBody:
    """Undo the codings of a body, the last one first, and return at most ``limit`` bytes.

    >>> import gzip
    >>> decode(gzip.compress(b"hello"), ["gzip"], 4)
    DecodedBody(body=b'hell', truncation=<Truncation.LENGTH: 'length'>, problem='')
    """
    limit = CEILING if limit is None else min(limit, CEILING)
    names = tuple(islice(codings, MAX_LAYERS + 1))
    cut, problems = Truncation.NOT, []
    if len(names) > MAX_LAYERS:
        names, problems = (), [f"not decoded: more than {MAX_LAYERS} content codings"]
    for name in reversed(names):
        try:
            layer = _undo(body, name, limit)
        except _Undecodable as error:
            problems.append(f"not decoded: {error}")
            if openers(body, name) and is_binary(body):  # damaged from its first byte, not just labelled wrongly
                cut = cut or Truncation.UNSPECIFIED
            break
        if layer.problem:
            problems.append(f"{name}: {layer.problem}")
        body, cut = layer.body, cut or layer.truncation
    if len(body) > limit:
        body, cut = body[:limit], Truncation.LENGTH
    return DecodedBody(body, cut, "; ".join(problems))


def _undo(body: bytes, coding: str, limit: int) -> DecodedBody:
    if coding == "identity" or not body:
        return DecodedBody(body)  # a response with status 204 or 304 may name a coding and have no body
    problem = ""
    for way in openers(body, coding):
        try:
            return _collect(way, body, limit)
        except _Undecodable as error:
            problem = f"not {coding} data ({error})"
    raise _Undecodable(problem or f"unknown content coding {coding[:40]!r}")


def _collect(way: Opener, body: bytes, limit: int) -> DecodedBody:
    pieces: list[bytes] = []
    steps: list[int] = []
    size, problem, cut = 0, "", Truncation.NOT
    try:
        stream = way.open(body)
        while size <= limit:
            step = min(_STEP, limit + 1 - size)
            piece = stream.read(step)
            if not piece:
                break
            pieces.append(piece)
            steps.append(step)
            size += len(piece)
    except DamagedBody as error:
        problem, cut = str(error), Truncation.NOT if isinstance(error, TrailingData) else Truncation.UNSPECIFIED
        if not pieces and not way.magic.startswith(body[: len(way.magic)]):  # too short for the library to notice
            raise _Undecodable(problem) from error
    except LIBRARY_ERRORS as error:
        more, problem = _salvaged(way, body, steps, limit + 1 - size, str(error).strip() or "damaged")
        pieces += more
        if not pieces and not (way.magic and body.startswith(way.magic)):
            raise _Undecodable(problem) from error
        cut = Truncation.UNSPECIFIED if problem else Truncation.NOT
    whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return DecodedBody(whole[:limit], Truncation.LENGTH if len(whole) > limit else cut, problem)


def _salvaged(way: Opener, body: bytes, steps: list[int], most: int, problem: str) -> tuple[list[bytes], str]:
    """Return what can be decoded between the last piece read and the damage, about ``most`` bytes, and the problem.

    A library that meets damage does not return what it decoded just before. So decode again with the same steps, and
    the last step in smaller ones, twice. The library may have read far ahead when it met the damage, hence ``most``.
    """
    pieces = []
    for finer in _FINER_STEPS:
        try:
            stream = way.open(body)
            for step in steps:
                stream.read(step)
            while most > 0 and (piece := stream.read(finer)):
                steps.append(finer)
                pieces.append(piece)
                most -= len(piece)
            return pieces, ""  # smaller steps got past it, or the limit is reached
        except DamagedBody as error:
            return pieces, str(error)
        except LIBRARY_ERRORS:
            continue
    return pieces, problem
