"""What a reply means for the queue of its host."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scoter.core.reply import Exchange, Failed, Gone, Reason, Timings, reply_to
from scoter.core.url import canonical
from scoter.fetch.queues.slots import UNUSED, SlotResult, slot_result

URL = canonical("https://example.org/")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def exchange(status: int, *headers: tuple[str, str], timings: Timings = Timings()) -> Exchange:  # noqa: B008
    return Exchange(
        url=URL,
        started=NOW,
        request_head=b"",
        response_head=b"",
        status=status,
        headers=headers,
        body=b"",
        timings=timings,
    )


@pytest.mark.parametrize(
    ("status", "turn"),
    [
        (200, SlotResult()),
        (301, SlotResult()),
        (304, SlotResult()),
        (404, SlotResult()),
        (403, SlotResult()),
        (500, SlotResult(failed=True)),
        (503, SlotResult(failed=True, busy=True)),
    ],
)
def test_a_status_says_whether_its_host_failed_or_is_busy(status: int, turn: SlotResult) -> None:
    assert slot_result(reply_to(exchange(status), NOW)) == turn


def test_retry_after_is_kept() -> None:
    reply = reply_to(exchange(429, ("Retry-After", "90")), NOW)

    assert slot_result(reply).retry_after == timedelta(seconds=90)


@pytest.mark.parametrize("reason", [Reason.ROBOTS_DENIED, Reason.CRAWL_DELAY])
def test_disallowed_page_uses_no_slot(reason: Reason) -> None:
    assert slot_result(Gone(URL, reason)) is UNUSED


@pytest.mark.parametrize("reason", [Reason.REFUSED_ADDRESS, Reason.ROBOTS_UNREACHABLE, Reason.STOPPED])
def test_unsent_request_is_an_unused_slot(reason: Reason) -> None:
    assert slot_result(Failed(URL, reason)) is UNUSED


def test_a_host_that_cannot_be_reached_has_failed() -> None:
    assert slot_result(Failed(URL, Reason.TIMEOUT)) == SlotResult(failed=True)


def test_the_latency_is_from_the_connection_to_the_first_byte() -> None:
    timings = Timings(resolved=0.25, connected=0.5, secured=1.0, first_byte=1.75, total=9.0)

    assert slot_result(reply_to(exchange(200, timings=timings), NOW)).took == 0.75
