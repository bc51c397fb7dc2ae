"""Signatures: four digests of page content, for finding duplicates and near-duplicates."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import xxhash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    UInts = NDArray[np.uint64]

MIN_TOKEN = 2
QUANT_RATE = 0.01
NEAR = 3
"""Pages are near-duplicates if their simhashes differ in at most this many bits."""

MAX_TEXT = 1_000_000  # characters of a page that the signatures based on words read
_WORD = re.compile(r"[^\W_]+")
_JAVA_LOWER = str.maketrans({"İ": "i", "Σ": "σ"})  # whose lower case depends on the context in Python
_SHINGLE = 3
# Odd 64-bit multipliers derived from the golden ratio and the square root of 2: their bits look random.
_ODD_1 = 0x9E3779B97F4A7C15
_ODD_2 = 0x6A09E667F3BCC909


def signed_text(title: str, text: str) -> str:
    """Return the text that the signatures read: as in Nutch, it begins with the title.

    >>> signed_text("Tag: seals", "Nothing here."), signed_text("", "Nothing here.")
    ('Tag: seals\\nNothing here.', 'Nothing here.')
    """
    return f"{title}\n{text}" if title else text


def md5(body: bytes, url: str) -> bytes:
    """Sign the body; sign the URL of an empty page, so that empty pages are not duplicates of each other.

    >>> md5(b"", "http://a/") == md5(b"", "http://b/")
    False
    """
    return hashlib.md5(body or url.encode(), usedforsecurity=False).digest()


def text_md5(text: str, body: bytes, url: str) -> bytes:
    """Sign the visible text, or the body if there is no text."""
    return md5(text.encode(errors="replace"), url) if text.strip() else md5(body, url)


def text_profile(text: str, body: bytes, url: str, min_token: int = MIN_TOKEN, quant_rate: float = QUANT_RATE) -> bytes:
    """Sign the words and their rounded frequencies, so that small changes do not matter.

    >>> text_profile("the seal swims", b"", "") == text_profile("The seal ... SWIMS!", b"", "")
    True
    """
    profile = profile_lines(text, min_token, quant_rate)
    return md5("\n".join(profile).encode(), url) if profile else text_md5(text, body, url)


def profile_lines(text: str, min_token: int = MIN_TOKEN, quant_rate: float = QUANT_RATE) -> list[str]:
    """Return the lines that ``text_profile`` signs: ``token count``, most frequent first."""
    counts = Counter(token for token in _java_words(text) if len(token) > min_token)
    if not counts:
        return []
    most = max(counts.values())
    quant = max(int(most * quant_rate + 0.5), 2 if most > 1 else 1)
    floored = ((token, count // quant * quant) for token, count in counts.items())
    kept = [(token, count) for token, count in floored if count >= quant]
    return [f"{token} {count}" for token, count in sorted(kept, key=lambda each: (-each[1], each[0]))]


def simhash(text: str) -> bytes:
    """Sign text so that texts that share most phrases differ in few of the 64 bits (Charikar, 2002).

    >>> a = simhash("the grey seal swims along the coast " * 9)
    >>> distance(a, simhash("the grey seal swims along the coast " * 9 + "today"))  <= NEAR
    True
    """
    # Importing numpy takes a tenth of a second, so import it only for this signature.
    import numpy as np

    words = _words(text)
    digests = {word: xxhash.xxh3_64_intdigest(word.encode(errors="replace")) for word in set(words)}
    hashes = np.fromiter(map(digests.__getitem__, words), dtype=np.uint64, count=len(words))
    if len(words) >= _SHINGLE:
        hashes = _phrases(hashes)
    bits = np.unpackbits(hashes.astype(">u8").view(np.uint8)).reshape(-1, 64)
    # A product of floats is three times as fast as a sum of bytes, and exact up to 16 million phrases.
    votes = np.ones(len(bits), dtype=np.float32) @ bits.astype(np.float32)
    return bytes(np.packbits(2 * votes > len(bits)))


def _phrases(words: UInts) -> UInts:
    """Combine the hashes of each three consecutive words into one that depends on their order."""
    mixed = words[:-2] * _ODD_1
    mixed ^= words[1:-1] >> 29
    mixed = (mixed + words[1:-1]) * _ODD_2
    mixed ^= mixed >> 31
    mixed = (mixed ^ words[2:]) * _ODD_1
    mixed ^= mixed >> 32
    return mixed


def has_words(text: str) -> bool:
    """Return whether a text has words, which ``simhash`` needs."""
    return _WORD.search(text[:MAX_TEXT]) is not None


def distance(one: bytes, other: bytes) -> int:
    """Return the number of bits in which two simhashes differ."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:MAX_TEXT].lower())


@cache
def _java_word() -> Any:
    """Return a pattern for Java's letters and digits: no fractions or Roman numerals, and nothing beyond 16 bits."""
    import regex  # type: ignore[import-untyped]  # takes longer to load than a small crawl signs

    return regex.compile(r"[[\p{L}\p{Nd}]--[\U00010000-\U0010FFFF]]+", regex.V1)


def _java_words(text: str) -> list[str]:
    """Return the words as Nutch splits and lowers them.

    >>> _java_words("ΟΔΟΣ 5½ x²y")
    ['οδοσ', '5', 'x', 'y']
    """
    text = text[:MAX_TEXT]
    return _words(text) if text.isascii() else _java_word().findall(text.translate(_JAVA_LOWER).lower())
