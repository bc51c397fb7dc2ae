"""What a message asks for, and whether there is room for it. What is accepted is kept for good before that is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from scoter.config import Config
from scoter.core.domain import registered_domain
from scoter.core.extract import urls_in
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.live.ports import Accepted, DomainRules, Intake
from scoter.live.records import Message

_LATER = 30.0


class Backlog(Protocol):
    """How much is waiting."""

    def waiting(self) -> int: ...

    def waiting_of(self, domain: str) -> int: ...


class Overloaded(Struct, frozen=True):
    """There is no room now: the whole service's, or a domain's."""

    retry_after: float
    domain: str = ""


class Unusable(Struct, frozen=True):
    """A URL of a message that is not one, or that may not be asked for."""

    url: str
    why: str


class Taken(Struct, frozen=True, kw_only=True):
    """A message that was accepted, and what of it was not taken."""

    accepted: Accepted
    unusable: tuple[Unusable, ...] = ()
    left_out: int = 0


Answer: TypeAlias = Taken | Overloaded


class Acceptance:
    """Takes messages in."""

    def __init__(
        self,
        config: Config,
        intake: Intake,
        backlog: Backlog,
        rules: DomainRules,
        *,
        on_accepted: Callable[[], None] = lambda: None,
    ) -> None:
        self._most = config.live.urls_per_message
        self._backlog_most = config.live.backlog
        self._domain_most = config.live.backlog_per_domain
        self._intake = intake
        self._backlog = backlog
        self._rules = rules
        self._on_accepted = on_accepted

    async def take(self, messages: Sequence[Message]) -> Sequence[Answer]:
        """Accept messages as one write; each is answered for itself, in the order given."""
        waiting = self._backlog.waiting()
        counted: Counter[str] = Counter()
        answers: list[Overloaded | None] = []
        read: list[_Read] = []
        for message in messages:
            found = self._read(message)
            refusal = self._refusal(found.urls, waiting, counted)
            answers.append(refusal)
            if refusal is None:
                read.append(found)
                waiting += len(found.urls)
                counted.update(registered_domain(url.host) for url in found.urls)
        kept = await self._intake.accept([(each.message, [url.text for url in each.urls]) for each in read])
        if kept:
            self._on_accepted()
        taken = iter(
            Taken(accepted=accepted, unusable=each.unusable, left_out=each.left_out)
            for accepted, each in zip(kept, read, strict=True)
        )
        return [next(taken) if refusal is None else refusal for refusal in answers]

    def _read(self, message: Message) -> _Read:
        """Find a message's URLs, each once, in their order."""
        urls: dict[str, Url] = {}
        unusable: list[Unusable] = []
        left_out = 0
        for text in (*message.urls, *urls_in(message.text)):
            try:
                url = canonical(text)
            except UrlError as error:
                unusable.append(Unusable(text[:200], error.message))
                continue
            rule = self._rules.get(registered_domain(url.host))
            if rule is not None and rule.blocked:
                unusable.append(Unusable(url.text, f"{rule.domain} is blocked"))
            elif url.text not in urls and len(urls) >= self._most:
                left_out += 1
            else:
                urls.setdefault(url.text, url)
        return _Read(message, tuple(urls.values()), tuple(unusable), left_out)

    def _refusal(self, urls: Sequence[Url], waiting: int, counted: Counter[str]) -> Overloaded | None:
        if waiting + len(urls) > self._backlog_most:
            return Overloaded(_LATER)
        for domain, more in Counter(registered_domain(url.host) for url in urls).items():
            if self._backlog.waiting_of(domain) + counted[domain] + more > self._domain_most:
                return Overloaded(_LATER, domain)
        return None


class _Read(Struct, frozen=True):
    message: Message
    urls: tuple[Url, ...]
    unusable: tuple[Unusable, ...]
    left_out: int
