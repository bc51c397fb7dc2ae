"""Signatures: by bytes, by text, by words, by phrases."""

from __future__ import annotations

from scoter.core import signature
from scoter.core.url import Url
from scoter.plugins import Setup


class Md5Signature:
    """Takes pages with the same bytes for the same."""

    reads_text = False

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.md5(body, url.text)


class TextMd5Signature:
    """Takes pages with the same text for the same, whatever their markup."""

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.text_md5(text, body, url.text)


class TextProfileSignature:
    """Takes pages with about the same words about as often for the same."""

    def __init__(self, setup: Setup) -> None:
        self._min_token = setup.config.db.signature_text_profile_min_token_len
        self._quant_rate = setup.config.db.signature_text_profile_quant_rate

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        return signature.text_profile(text, body, url.text, self._min_token, self._quant_rate)


class SimhashSignature:
    """Gives pages that are nearly the same signatures that are nearly the same."""

    def __init__(self, setup: Setup) -> None: ...

    def sign(self, url: Url, body: bytes, text: str) -> bytes:
        # Pages without words are not all alike: their bytes have to tell.
        return signature.simhash(text) if signature.has_words(text) else signature.md5(body, url.text)[:8]
