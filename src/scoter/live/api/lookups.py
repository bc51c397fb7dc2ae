"""Lookups as encoded JSON, shared by the whole API and the lookup processes; and waiting for records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from scoter.core.extract import LONGEST
from scoter.core.url import typed_url
from scoter.errors import UrlError
from scoter.http.asgi import NO_STORE, ApiResponse, Fields
from scoter.http.problems import problem, reply_of
from scoter.live.api.records import Absence, LookupBatch, Missing
from scoter.live.records import UrlRecord

_encode: Final = msgspec.json.Encoder().encode
_REVALIDATED: Final = (b"cache-control", b"private, no-cache")
NOT_A_URL: Final = problem(422, "invalid", "This is not a URL.", where="?url")
lookup_decoder: Final = msgspec.json.Decoder(LookupBatch)


class LookupResults(Struct, frozen=True):
    """One result per URL, in the order given: a record, or its absence; ``state`` tells which."""

    results: list[UrlRecord]


class RecordSource(Protocol):
    """Encoded records by URL: implemented by ``live.sqlite.metadata.SqliteMetadataReader``."""

    async def value(self, url: str) -> bytes | None: ...

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]: ...


class Lookup:
    """Answers lookups. ``is_pending`` tells whether a URL is accepted and unfinished; it is called on a miss only."""

    def __init__(self, records: RecordSource, is_pending: Callable[[str], bool]) -> None:
        self._records = records
        self._is_pending = is_pending

    async def known(self, text: str) -> bytes | None:
        """Return the record of a URL, in any spelling."""
        # Records are stored under canonical URLs only: a URL that is found as given needs no parsing.
        found = await self._records.value(text)
        if found is None:
            url = canonical_text(text)
            if url and url != text:
                found = await self._records.value(url)
        return found

    async def one(self, text: str) -> ApiResponse:
        """Respond for one URL."""
        value = await self.known(text)
        if value is None:
            return self.without(text)
        # A record may change at any time, by a forced fetch: caches keep it, but must ask whether it is still valid.
        return ApiResponse(value, headers=(_REVALIDATED, (b"etag", b'"%b"' % xxh3_64_hexdigest(value).encode())))

    def is_pending(self, url: str) -> bool:
        """Return whether a URL in canonical form is accepted and not finished."""
        return self._is_pending(url)

    def without(self, text: str) -> ApiResponse:
        """Respond for a URL without a record."""
        absence = self._why(canonical_text(text))
        if absence is Absence.PENDING:
            return ApiResponse(_encode(Missing(text, absence)), 202, headers=NO_STORE)
        if absence is Absence.UNUSABLE:
            return reply_of(NOT_A_URL)
        return reply_of(problem(404, "unknown-url", "This URL is unknown; it was never submitted."), *NO_STORE)

    async def many(self, urls: Sequence[str]) -> ApiResponse:
        """Respond for several URLs, in the order given."""
        found = await self._records.values(urls)
        is_complete = len(found) == len(urls)
        results = [found[url] for url in urls] if is_complete else await self._with_missing(urls, found)
        if not results:
            return ApiResponse(b'{"results":[]}')
        results[0] = b'{"results":[' + results[0]
        results[-1] += b"]}"
        return ApiResponse(b",".join(results))  # copied once: it may be hundreds of kilobytes

    async def _with_missing(self, urls: Sequence[str], found: Mapping[str, bytes]) -> list[bytes]:
        missed = {text: canonical_text(text) for text in urls if text not in found}
        spelt = [url for text, url in missed.items() if url and url != text]
        more = await self._records.values(spelt) if spelt else {}
        results = []
        for text in urls:
            value = found.get(text) or more.get(missed[text])
            results.append(value or _encode(Missing(text, self._why(missed[text]))))
        return results

    def _why(self, url: str) -> Absence:
        """Return why there is no record of a URL in canonical form."""
        if not url:
            return Absence.UNUSABLE
        return Absence.PENDING if self._is_pending(url) else Absence.UNKNOWN


def not_changed(reply: ApiResponse, headers: Fields) -> ApiResponse | None:
    """Return 304 if the client has this response already (RFC 9110 13.1.2), otherwise ``None``."""
    asked = [value for name, value in headers if name == b"if-none-match"]
    if not asked or reply.status != 200:
        return None
    (etag,) = (value for name, value in reply.headers if name == b"etag")
    listed = (each.strip().removeprefix(b"W/") for each in asked[0].split(b","))
    return ApiResponse(status=304, headers=reply.headers) if asked[0].strip() == b"*" or etag in listed else None


def canonical_text(text: str) -> str:
    """Return the canonical form of a URL, or "" if it is invalid or too long."""
    try:
        url = typed_url(text).text
    except UrlError:
        return ""
    return url if len(url) <= LONGEST else ""


MAX_WAITERS: Final = 10_000


class UrlWaiters:
    """Requests that wait for URLs; ``note`` must be called for every URL that is stored."""

    def __init__(self, most: int = MAX_WAITERS) -> None:
        self._most = most
        self._count = 0
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._is_closing = False

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        return self._count >= self._most

    def note(self, urls: Iterable[str]) -> None:
        """Wake the requests that wait for any of these URLs."""
        if not self._waiting:
            return
        for url in urls:
            for future in self._waiting.pop(url, ()):
                if not future.done():
                    future.set_result(None)

    def close(self) -> None:
        """Wake all requests, and let no more wait: the service is shutting down."""
        self._is_closing = True
        self.note(tuple(self._waiting))

    async def wait(self, url: str, seconds: float) -> bool:
        """Wait until a URL is stored; return whether it was in time."""
        if self._is_closing:
            return False
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(url, set()).add(future)
        self._count += 1
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            self._count -= 1
            others = self._waiting.get(url)
            if others is not None:
                others.discard(future)
                if not others:
                    del self._waiting[url]
        return not self._is_closing
