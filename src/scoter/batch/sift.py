"""What the normalisers and filters of the configuration make of URLs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from scoter.config import Config
from scoter.core.chain import Keeps, Normalizes, Scope, keeps, rewrite
from scoter.core.url import Url, canonical
from scoter.plugins import chain


class Sieve(Struct, frozen=True):
    """The chains for one purpose; either may be empty."""

    filters: Sequence[tuple[str, Keeps]]
    normalizers: Sequence[tuple[str, Normalizes]]
    scope: Scope
    loops: int = 1

    @classmethod
    def of(cls, config: Config, scope: Scope, *, filter: bool, normalize: bool) -> Self:  # noqa: A002
        """Return the chains that the configuration names."""
        return cls(
            chain("urlfilter", config) if filter else (),
            chain("urlnormalizer", config) if normalize else (),
            scope,
            config.urlnormalizer.loop_count,
        )

    def sift(self, text: str) -> Url | None:
        """Return the URL of a text as it is to be stored, or nothing when it is dropped; raise when it is no URL."""
        found = rewrite(text, self.normalizers, self.scope, self.loops) if self.normalizers else text
        if found is None:
            canonical(text)  # a normaliser drops what is no URL too, and that is to be told apart
            return None
        url = canonical(found)
        return url if keeps(url, self.filters) else None
