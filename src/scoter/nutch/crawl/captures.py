"""Nutch's Content as an exchange for the archive.

Nutch stores the response headers as metadata, next to its own entries, and the body without its content coding. The
archived head therefore names the coding as ``X-Crawler-Content-Encoding``. If Nutch stored the heads verbatim
(``store.http.headers``), these are archived.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import responses
from typing import Final

from msgspec import Struct

from scoter.core.datum import EPOCH, FetchStatus, later
from scoter.core.reply import Exchange, Headers, Timings, Truncation
from scoter.core.url import Url
from scoter.nutch.crawl.records import NutchContent, NutchDatum
from scoter.store.warc.record import parse_head

HTTP_CODE, RESPONSE_TIME, PROTOCOL_STATUS = "nutch.protocol.code", "_rs_", "_pst_"
_REQUEST, _RESPONSE, _IP, _FETCH_TIME = "_request_", "_response.headers_", "_ip_", "nutch.fetch.time"
_TRUNCATED, _TRUNCATED_REASON = "http.content.truncated", "http.content.truncated.reason"
# Entries of Nutch's own among the headers.
_OWN: Final = re.compile(r"nutch\..*|http\.content\..*|_.*_|caching\.forbidden|.*CharEncoding.*|signature|segment")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAK: Final = re.compile(r"[\r\n\0]+")
_CODING: Final = re.compile(r"(?im)^(content-encoding[ \t]*:)")
_CODES: Final = {
    FetchStatus.SUCCESS.value: 200,
    FetchStatus.RETRY.value: 503,
    FetchStatus.REDIR_TEMP.value: 302,
    FetchStatus.REDIR_PERM.value: 301,
    FetchStatus.GONE.value: 404,
    FetchStatus.NOTMODIFIED.value: 304,
}
_CUTS: Final = {each.value: each for each in Truncation}


class ProtocolStatus(Struct, frozen=True):
    """Nutch's ProtocolStatus: its name, such as ``notfound``, and its message."""

    name: str = ""
    message: str = ""

    @classmethod
    def of(cls, datum: NutchDatum) -> ProtocolStatus:
        """Return the status among a record's metadata.

        >>> ProtocolStatus.of(NutchDatum(0, 0, 0, 0, 0.0, 0, None, {"_pst_": "moved(12), lastModified=0: http://a.b/"}))
        ProtocolStatus(name='moved', message='http://a.b/')
        """
        shown = datum.metadata.get(PROTOCOL_STATUS, "")
        return cls(shown.partition("(")[0], shown.partition(": ")[2])


def http_code(datum: NutchDatum | None) -> int | None:
    """Return the HTTP status that Nutch recorded for a fetch, if it did."""
    code = datum.metadata.get(HTTP_CODE, "") if datum is not None else ""
    return int(code) if re.fullmatch("[1-9][0-9]{2}", code) else None


def exchange_of(url: Url, content: NutchContent, datum: NutchDatum | None, otherwise: datetime) -> Exchange:
    """Return a content as an exchange; ``datum`` is the record of its fetch.

    ``otherwise`` is its time if neither the fetch nor the content tells.
    """
    stored = content.metadata
    status, head, headers = _head(url, content, datum)
    request = _first(stored, _REQUEST)
    return Exchange(
        url=url,
        started=_started(stored, datum, otherwise),
        request_head=_ended(request).encode("utf-8", "replace") if request else b"",
        response_head=head,
        status=status,
        headers=headers,
        body=content.body,
        truncation=_truncation(stored),
        peer=_BREAK.sub(" ", _first(stored, _IP)),
        timings=Timings(total=_milliseconds(datum) / 1000),
    )


def _head(url: Url, content: NutchContent, datum: NutchDatum | None) -> tuple[int, bytes, Headers]:
    """Return the status, the head and the headers of a response; other protocols than HTTP have no head."""
    verbatim = _first(content.metadata, _RESPONSE)
    if verbatim:
        head = _CODING.sub(r"X-Crawler-\1", _ended(verbatim)).encode("latin-1", "replace")
        status, headers = parse_head(head)
        if status:
            return status, head, headers
    headers = _headers(content)
    if not url.scheme.startswith("http"):
        return 0, b"", headers
    status = http_code(datum) or (_CODES.get(datum.status, 200) if datum is not None else 200)
    first = f"HTTP/1.1 {status} {responses.get(status, '')}".rstrip()
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return status, "\r\n".join(lines).encode("utf-8", "replace"), headers


def _headers(content: NutchContent) -> Headers:
    found = []
    for name, values in content.metadata.items():
        if _NAME.fullmatch(name) and not _OWN.fullmatch(name):
            shown = f"X-Crawler-{name}" if name.lower() == "content-encoding" else name
            found += [(shown, _BREAK.sub(" ", value).strip()) for value in values]
    if content.content_type and not any(name.lower() == "content-type" for name, _ in found):
        found.append(("Content-Type", _BREAK.sub(" ", content.content_type)))
    return tuple(found)


def _started(stored: dict[str, tuple[str, ...]], datum: NutchDatum | None, otherwise: datetime) -> datetime:
    if datum is not None and datum.fetch_time > 0:
        return later(EPOCH, timedelta(milliseconds=min(datum.fetch_time, 2**53)))
    with suppress(ValueError, OverflowError):
        return datetime.fromtimestamp(int(_first(stored, _FETCH_TIME)) / 1000, UTC)
    return otherwise


def _truncation(stored: dict[str, tuple[str, ...]]) -> Truncation:
    if _first(stored, _TRUNCATED).lower() != "true":
        return Truncation.NOT
    return _CUTS.get(_first(stored, _TRUNCATED_REASON).lower()) or Truncation.UNSPECIFIED


def _milliseconds(datum: NutchDatum | None) -> int:
    text = datum.metadata.get(RESPONSE_TIME, "") if datum is not None else ""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def _first(stored: dict[str, tuple[str, ...]], name: str) -> str:
    values = stored.get(name)
    return values[0] if values else ""


def _ended(head: str) -> str:
    return head.rstrip("\r\n") + "\r\n\r\n"
