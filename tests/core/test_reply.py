"""The reply to every HTTP status, compared with a table written by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scoter.core.datum import FetchStatus
from scoter.core.reply import (
    Exchange,
    Failed,
    Fetched,
    Gone,
    Moved,
    NotModified,
    Reason,
    Truncation,
    fetch_status,
    reply_to,
    retry_after,
)
from scoter.core.url import canonical

NOW = datetime(2026, 3, 1, tzinfo=UTC)
URL = canonical("http://example.com/a/b")


def exchange(status: int, cut: Truncation = Truncation.NOT, **headers: str) -> Exchange:
    return Exchange(
        url=URL,
        started=NOW,
        request_head=b"",
        response_head=b"",
        status=status,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        body=b"",
        truncation=cut,
    )


TEMPORARY = {302, 303, 307}
GONE = {
    400: Reason.BAD_REQUEST,
    401: Reason.UNAUTHORIZED,
    402: Reason.PAYMENT_REQUIRED,
    404: Reason.NOT_FOUND,
    410: Reason.REMOVED,
    451: Reason.LEGAL_REASONS,
}


@pytest.mark.parametrize("cut", [Truncation.NOT, Truncation.DISCONNECT])
@pytest.mark.parametrize("status", range(100, 600))
def test_every_http_status_maps_to_a_reply(status: int, cut: Truncation) -> None:
    reply = reply_to(exchange(status, cut, Location="/c"), NOW)

    if 200 <= status < 300 and cut is Truncation.DISCONNECT:
        assert isinstance(reply, Failed)
        assert (reply.reason, fetch_status(reply)) == (Reason.RESET, FetchStatus.RETRY)
    elif 200 <= status < 300:
        assert (type(reply), fetch_status(reply)) == (Fetched, FetchStatus.SUCCESS)
    elif 300 <= status < 400 and status != 304:
        assert isinstance(reply, Moved)
        assert reply.target == canonical("http://example.com/c")
        assert fetch_status(reply) is (FetchStatus.REDIR_TEMP if status in TEMPORARY else FetchStatus.REDIR_PERM)
    elif status in GONE:
        assert isinstance(reply, Gone)
        assert (reply.reason, fetch_status(reply)) == (GONE[status], FetchStatus.GONE)
    else:
        assert isinstance(reply, Failed)
        assert (reply.transient, fetch_status(reply)) == (True, FetchStatus.RETRY)
        assert reply.blames_host is (status == 429 or status >= 500)
        expected = {403: Reason.FORBIDDEN, 429: Reason.BUSY, 503: Reason.BUSY}
        default = Reason.SERVER_ERROR if status >= 500 else Reason.OTHER_STATUS
        assert reply.reason is expected.get(status, default)
    assert reply.exchange is not None


@pytest.mark.parametrize("field", [b"If-None-Match: *", b"if-modified-since: Sun, 01 Mar 2026 12:00:00 GMT"])
def test_304_means_unchanged_only_if_the_request_was_conditional(field: bytes) -> None:
    asked = b"GET /if-none-match: HTTP/1.1\r\nHost: example.com\r\n"

    plain, conditional = (
        reply_to(replace(exchange(304), request_head=head), NOW)
        for head in (asked + b"\r\n", asked + field + b"\r\n\r\n")
    )

    assert isinstance(plain, Failed)
    assert (type(conditional), fetch_status(conditional)) == (NotModified, FetchStatus.NOTMODIFIED)


def test_incomplete_body_is_a_failure_but_truncated_body_is_not() -> None:
    broken = reply_to(exchange(200, Truncation.DISCONNECT), NOW)

    assert isinstance(broken, Failed)
    assert broken.reason is Reason.RESET
    assert isinstance(reply_to(exchange(200, Truncation.LENGTH), NOW), Fetched)
    assert isinstance(reply_to(exchange(200, Truncation.TIME), NOW), Fetched)


@pytest.mark.parametrize("location", ["", "javascript:alert(1)", "data:,x", "http://", "http://[bad"])
def test_redirect_without_valid_location_has_no_target(location: str) -> None:
    reply = reply_to(exchange(302, Location=location), NOW)

    assert isinstance(reply, Moved)
    assert reply.target is None


@pytest.mark.parametrize(("value", "detail"), [("USD 0.01", "crawler-price: USD 0.01"), ("", ""), ("9" * 500, None)])
def test_price_that_a_site_asks_for_is_kept(value: str, detail: str | None) -> None:
    reply = reply_to(exchange(402, Crawler_Price=value), NOW)

    assert isinstance(reply, Gone)
    assert reply.detail == (f"crawler-price: {'9' * 100}" if detail is None else detail)


def test_permanent_failure_is_gone() -> None:
    assert fetch_status(Failed(URL, Reason.TLS, transient=False)) is FetchStatus.GONE


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("99999999999999999999", 86_400),
        ("90000", 86_400),
        ("Sun, 01 Mar 2026 00:01:00 GMT", 60),
        ("Sun, 01 Mar 2026 00:01:00", 60),
        ("Sat, 28 Feb 2026 23:00:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("Sun, 99 Foo 2026", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: int | None) -> None:
    assert retry_after(value, NOW) == (None if seconds is None else timedelta(seconds=seconds))


@given(st.text(max_size=60))
def test_retry_after_is_at_most_a_day(value: str) -> None:
    wait = retry_after(value, NOW)

    assert wait is None or timedelta(0) <= wait <= timedelta(days=1)


def test_busy_reply_has_retry_after() -> None:
    reply = reply_to(exchange(503, Retry_After="7"), NOW)

    assert isinstance(reply, Failed)
    assert reply.retry_after == timedelta(seconds=7)
