"""The built-in signatures: of the body, the text, the words or the phrases of a page."""

from __future__ import annotations

from scoter.core import signature
from scoter.core.url import Url
from scoter.plugins import Setup


class Md5Signature:
    """Finds pages with identical bodies."""

    reads_text = False

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.md5(body, url.text)


class TextMd5Signature:
    """Finds pages with identical text, whatever their markup."""

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.text_md5(text, body, url.text)


class TextProfileSignature:
    """Finds pages with about the same words at about the same frequency."""

    def __init__(self, setup: Setup) -> None:
        self._min_token = setup.config.db.signature_text_profile_min_token_len
        self._quant_rate = setup.config.db.signature_text_profile_quant_rate

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.text_profile(text, body, url.text, self._min_token, self._quant_rate)


class SimhashSignature:
    """Gives similar signatures to pages with similar text."""

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        # Pages without words are compared by their bodies.
        return signature.simhash(text) if signature.has_words(text) else signature.md5(body, url.text)[:8]
