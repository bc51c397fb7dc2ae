"""From what the web answered to a reply, and from a reply to a fetch status: two total functions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import assert_never

from scoter.core.datum import FetchStatus
from scoter.core.reply import Cut, Exchange, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply
from scoter.core.url import join

LONGEST_RETRY_AFTER = timedelta(days=1)

_TEMPORARY = frozenset({302, 303, 307})
_GONE = {400: Reason.BAD_REQUEST, 401: Reason.UNAUTHORIZED, 404: Reason.NOT_FOUND, 410: Reason.REMOVED}
_BUSY = frozenset({429, 503})
_DIGITS = re.compile("[0-9]+")


def reply_to(exchange: Exchange, now: datetime) -> Reply:
    """Return what a response means.

    As in Nutch, but: 403 is tried again and does not count against the host, 204 and 206 are success with what there
    is, 429 and 503 slow the host down.
    """
    status = exchange.status
    match status // 100:
        case 2 if exchange.cut is Cut.DISCONNECT:  # what the others have to say is in their heads
            return Failed(exchange.url, Reason.RESET, "the body ended before its length", exchange=exchange)
        case 2:
            return Fetched(exchange)
        case 3 if status == 304:
            return NotModified(exchange)
        case 3:
            location = exchange.header("Location")
            target = join(exchange.url, as_url(location)) if location else None
            return Moved(exchange, target, status not in _TEMPORARY)
        case 4 if status in _GONE:
            return Gone(exchange.url, _GONE[status], exchange=exchange)
        case 4 if status == 403:
            return Failed(exchange.url, Reason.FORBIDDEN, blames_host=False, exchange=exchange)
        case _ if status in _BUSY:
            # A date is one of the server's clock; ours may be wrong.
            wait = retry_after(exchange.header("Retry-After"), _date(exchange.header("Date")) or now)
            return Failed(exchange.url, Reason.BUSY, f"HTTP {status}", retry_after=wait, exchange=exchange)
        case 5:
            return Failed(exchange.url, Reason.SERVER_ERROR, f"HTTP {status}", exchange=exchange)
        case _:
            return Failed(exchange.url, Reason.OTHER_STATUS, f"HTTP {status}", exchange=exchange)


def fetch_status(reply: Reply) -> FetchStatus:
    """Return the status under which a reply enters the crawl."""
    match reply:
        case Fetched():
            return FetchStatus.SUCCESS
        case Moved(permanent=permanent):
            return FetchStatus.REDIR_PERM if permanent else FetchStatus.REDIR_TEMP
        case NotModified():
            return FetchStatus.NOTMODIFIED
        case Gone():
            return FetchStatus.GONE
        case Failed(transient=transient):
            return FetchStatus.RETRY if transient else FetchStatus.GONE
        case _:
            assert_never(reply)


def as_url(value: str) -> str:
    """Return a header's value as the URL it means: many servers send UTF-8 unescaped, some send other bytes.

    >>> as_url("/caf\xc3\xa9"), as_url("/caf\xe9")
    ('/caf\xe9', '/caf%E9')
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return "".join(letter if letter.isascii() else f"%{ord(letter):02X}" for letter in value)


def retry_after(value: str, now: datetime) -> timedelta | None:
    """Read a Retry-After field (RFC 9110 10.2.3): seconds or a date; at most a day is believed.

    >>> retry_after("120", datetime(2026, 1, 1, tzinfo=UTC))
    datetime.timedelta(seconds=120)
    """
    text = value.strip()
    if _DIGITS.fullmatch(text):
        wait = LONGEST_RETRY_AFTER if len(text) > 9 else timedelta(seconds=int(text))
    else:
        moment = _date(text)
        if moment is None:
            return None
        wait = moment - now
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
