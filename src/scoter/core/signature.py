"""When two pages count as the same, or nearly: four ways to sign content."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    UInts = NDArray[np.uint64]

MIN_TOKEN = 2
QUANT_RATE = 0.01
NEAR = 3
"""Two simhashes that differ in at most this many bits belong to near-duplicates."""

MAX_TEXT = 1_000_000  # characters read of a page by the signatures that work on words
_WORD = re.compile(r"[^\W_]+")
_SHINGLE = 3
# Odd 64-bit multipliers from the golden ratio and the square root of 2: bits that look random, nothing up a sleeve.
_ODD_1 = 0x9E3779B97F4A7C15
_ODD_2 = 0x6A09E667F3BCC909


def md5(body: bytes, url: str) -> bytes:
    """Sign the bytes as they came; an empty body is signed by its URL, so that empty pages are not all alike.

    >>> md5(b"", "http://a/") == md5(b"", "http://b/")
    False
    """
    return hashlib.md5(body or url.encode(), usedforsecurity=False).digest()


def text_md5(text: str, body: bytes, url: str) -> bytes:
    """Sign the text that a reader sees; a page without any is signed by its bytes."""
    return md5(text.encode(errors="replace"), url) if text.strip() else md5(body, url)


def text_profile(text: str, body: bytes, url: str, min_token: int = MIN_TOKEN, quant_rate: float = QUANT_RATE) -> bytes:
    """Sign the words and how often they occur, roughly, so that small changes do not count.

    >>> text_profile("the seal swims", b"", "") == text_profile("The seal ... SWIMS!", b"", "")
    True
    """
    profile = profile_lines(text, min_token, quant_rate)
    return md5("\n".join(profile).encode(), url) if profile else text_md5(text, body, url)


def profile_lines(text: str, min_token: int = MIN_TOKEN, quant_rate: float = QUANT_RATE) -> list[str]:
    """Return the profile that is signed: ``token count``, frequent tokens first."""
    counts = Counter(token for token in _words(text) if len(token) > min_token)
    if not counts:
        return []
    most = max(counts.values())
    quant = max(int(most * quant_rate + 0.5), 2 if most > 1 else 1)
    floored = ((token, count // quant * quant) for token, count in counts.items())
    kept = [(token, count) for token, count in floored if count >= quant]
    return [f"{token} {count}" for token, count in sorted(kept, key=lambda each: (-each[1], each[0]))]


def simhash(text: str) -> bytes:
    """Sign text so that texts with most of their phrases in common differ in few of 64 bits (Charikar, 2002).

    >>> a = simhash("the grey seal swims along the coast " * 9)
    >>> distance(a, simhash("the grey seal swims along the coast " * 9 + "today"))  <= NEAR
    True
    """
    # numpy takes a tenth of a second to import, which only this signature should cost.
    import numpy as np

    words = _words(text)
    digests = {word: xxhash.xxh3_64_intdigest(word.encode(errors="replace")) for word in set(words)}
    hashes = np.fromiter(map(digests.__getitem__, words), dtype=np.uint64, count=len(words))
    if len(words) >= _SHINGLE:
        hashes = _phrases(hashes)
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8)).reshape(-1, 64)
    # A product of floats is three times as quick as a sum of bytes, and exact up to 16 million phrases.
    votes = np.ones(len(bits), dtype=np.float32) @ bits.astype(np.float32)
    return bytes(np.packbits(2 * votes > len(bits)))


def _phrases(words: UInts) -> UInts:
    """Mix the hashes of three words in a row into one, in which the order counts."""
    mixed = words[:-2] * _ODD_1
    mixed ^= words[1:-1] >> 29
    mixed = (mixed + words[1:-1]) * _ODD_2
    mixed ^= mixed >> 31
    mixed = (mixed ^ words[2:]) * _ODD_1
    mixed ^= mixed >> 32
    return mixed


def has_words(text: str) -> bool:
    """Tell whether there is anything in a text that a signature by words can go by."""
    return _WORD.search(text[:MAX_TEXT]) is not None


def distance(one: bytes, other: bytes) -> int:
    """Return in how many bits two simhashes differ."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:MAX_TEXT].lower())
