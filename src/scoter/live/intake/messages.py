"""Takes messages in: extracts their URLs, applies the backlog limits, and stores what it accepts before it answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from scoter.config import Config
from scoter.core.extract import LONGEST, urls_in
from scoter.core.url import Url, typed_url
from scoter.errors import UrlError
from scoter.live.api.records import UnusableUrl
from scoter.live.ports import Accepted, DomainRuleStore, MessageIntake
from scoter.live.records import Message
from scoter.live.tenants import tenant_of

_LATER = 30.0
_SOONEST, _LATEST = 5.0, 3600.0  # bounds, in seconds, of the retry time for a full domain
_SHOWN = 200  # characters of a URL that are shown in an answer
_COUNT_EVERY = 1.0  # seconds for which a count of the backlog is used, if it leaves room for all URLs accepted since
_SCHEMES = frozenset({"http", "https"})


class Backlog(Protocol):
    """How many URLs are waiting, and which messages are known."""

    def waiting(self) -> int: ...

    def waiting_of(self, domain: str) -> int: ...

    def waiting_for(self, tenant: str) -> int: ...

    def is_done(self, message: str) -> bool | None: ...


class Overloaded(Struct, frozen=True):
    """The backlog is full: that of ``domain``, the sender's (``is_tenant``), or the whole service's."""

    retry_after: float
    domain: str = ""
    is_tenant: bool = False


class Taken(Struct, frozen=True, kw_only=True):
    """An accepted message, with the URLs that cannot be used and the number beyond the limit per message."""

    accepted: Accepted
    unusable: tuple[UnusableUrl, ...] = ()
    left_out: int = 0


TakeResult: TypeAlias = Taken | Overloaded


class MessageReceiver:
    """Accepts messages, or refuses them when the backlog is full."""

    def __init__(
        self,
        config: Config,
        intake: MessageIntake,
        backlog: Backlog,
        rules: DomainRuleStore,
        *,
        on_accepting: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_accepting`` is called when messages are about to be stored.

        Whoever opens entries then does so behind them, in the same transaction.
        """
        self._most = config.live.urls_per_message
        self._backlog_most = config.live.backlog
        self._domain_most = config.live.backlog_per_domain
        self._tenant_most = config.live.backlog_per_tenant
        self._lowest_most = min(self._backlog_most, self._domain_most, self._tenant_most)
        self._delay = config.fetch.delay.total_seconds()
        self._intake = intake
        self._backlog = backlog
        self._rules = rules
        self._on_accepting = on_accepting
        # URLs being written, by domain and by tenant: messages that arrive together must not each claim the same space.
        self._coming: Counter[str] = Counter()
        self._coming_for: Counter[str] = Counter()
        self._coming_in_all = 0
        self._counted = self._since = 0  # URLs that waited when they were last counted; those written since then
        self._count_until = 0.0

    async def take(self, messages: Sequence[Message]) -> Sequence[TakeResult]:
        """Accept messages in one write; return a result for each, in order."""
        found: list[_ExtractedUrls | Overloaded] = []
        names = set()
        for message in messages:
            each = self._read(message)
            refusal = self._refusal(each)
            # A repeated message needs no space, and must not be refused.
            if refusal is not None and message.id not in names and self._backlog.is_done(message.id) is None:
                found.append(refusal)
                continue
            found.append(each)
            names.add(message.id)
            self._expect(each, 1)
        read = [each for each in found if isinstance(each, _ExtractedUrls)]
        if read:
            self._on_accepting()
        try:
            wanted = [(each.message, [url.text for url in each.urls]) for each in read]
            kept = iter(await self._intake.accept(wanted) if wanted else ())
        finally:
            # The journal counts them now, or they were not accepted.
            for each in read:
                self._expect(each, -1)
                self._since += len(each.urls)
        return [
            Taken(accepted=next(kept), unusable=each.unusable, left_out=each.left_out)
            if isinstance(each, _ExtractedUrls)
            else each
            for each in found
        ]

    def _expect(self, found: _ExtractedUrls, more: int) -> None:
        """Add URLs to those being written, or remove them if ``more`` is -1."""
        self._coming_in_all += more * len(found.urls)
        tenant = tenant_of(found.message.id)
        for url in found.urls:
            for coming, name in ((self._coming, url.domain), (self._coming_for, tenant)):
                coming[name] += more
                if not coming[name]:
                    del coming[name]

    def _read(self, message: Message) -> _ExtractedUrls:
        """Find the distinct URLs of a message, in order."""
        urls: dict[str, Url] = {}
        unusable: dict[str, UnusableUrl] = {}
        left_out = set()
        for text in (*message.urls, *urls_in(message.text)):
            try:
                url = typed_url(text)
            except UrlError as error:
                unusable.setdefault(text, UnusableUrl(text[:_SHOWN], error.message))
                continue
            if url.text in urls:
                continue
            why = self._objection(url)
            if why:
                unusable.setdefault(url.text, UnusableUrl(url.text[:_SHOWN], why))
            elif len(urls) < self._most:
                urls[url.text] = url
            else:
                left_out.add(url.text)
        return _ExtractedUrls(message, tuple(urls.values()), tuple(unusable.values()), len(left_out))

    def _objection(self, url: Url) -> str:
        if url.scheme not in _SCHEMES:
            return f"unsupported scheme {url.scheme}: only http and https are fetched"
        if len(url.text) > LONGEST:
            return f"longer than {LONGEST} characters"
        rule = self._rules.get(url.domain)
        return f"{rule.domain} is blocked" if rule is not None and rule.blocked else ""

    def _refusal(self, found: _ExtractedUrls) -> Overloaded | None:
        """Return why URLs cannot be accepted now, or ``None``. An empty backlog accepts any message."""
        urls = found.urls
        coming = self._coming_in_all
        # No domain and no tenant can have more waiting than all together. Counting costs as much as reading a message.
        now = time.monotonic()
        if now < self._count_until and self._counted + self._since + coming + len(urls) <= self._lowest_most:
            return None
        self._counted, self._since, self._count_until = self._backlog.waiting(), 0, now + _COUNT_EVERY
        waiting = self._counted + coming
        if waiting + len(urls) <= self._lowest_most:
            return None
        if waiting and urls and waiting + len(urls) > self._backlog_most:
            return Overloaded(_LATER)
        if self._tenant_most < self._backlog_most:
            tenant = tenant_of(found.message.id)
            waiting = self._backlog.waiting_for(tenant) + self._coming_for[tenant]
            if waiting and urls and waiting + len(urls) > self._tenant_most:
                return Overloaded(_LATER, is_tenant=True)
        for domain, more in Counter(url.domain for url in urls).items():
            waiting = self._backlog.waiting_of(domain) + self._coming[domain]
            if waiting and waiting + more > self._domain_most:
                return Overloaded(self._until_room(domain, waiting, more), domain)
        return None

    def _until_room(self, domain: str, waiting: int, more: int) -> float:
        """Return the seconds that a domain needs, at its delay, to make space for ``more`` URLs."""
        rule = self._rules.get(domain)
        delay = self._delay if rule is None or rule.delay is None else rule.delay
        before = waiting if more > self._domain_most else waiting + more - self._domain_most
        return min(max(before * delay, _SOONEST), _LATEST)


class _ExtractedUrls(Struct, frozen=True):
    message: Message
    urls: tuple[Url, ...]
    unusable: tuple[UnusableUrl, ...]
    left_out: int
