"""A URL filter with settings, an explanation and a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from scoter.config import Setting
from scoter.core.url import Url, canonical
from scoter.plugins import Setup


class FewParameters:
    """Drops URLs with many query parameters, which are often crawler traps."""

    class Settings(Struct, frozen=True):
        most: Annotated[int, Setting("Maximum number of query parameters.", at_least=0)] = 3

    def __init__(self, setup: Setup) -> None:
        self._most: int = setup.settings.most

    def keeps(self, url: Url) -> bool:
        return _parameters(url) <= self._most

    def explain(self, url: Url) -> str:
        relation = "at most" if self.keeps(url) else "more than"
        return f"{_parameters(url)} parameters, {relation} {self._most}"

    def run(self, args: Sequence[str]) -> int:
        for text in args:
            print(f"{_parameters(canonical(text))}\t{text}")
        return 0


def _parameters(url: Url) -> int:
    return sum(1 for each in url.query.split("&") if each)
