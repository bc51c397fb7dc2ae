"""Genuine and forged callbacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from tests.client.service import RECORD

from scoter.client import ClientError, Event, UrlRecord, verify
from scoter.live.api.webhooks import signature

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SECRET = b"a secret"
EVENT = Event(number=1, message="m", url="http://a.example/", at=NOW, record=msgspec.convert(RECORD, UrlRecord))
BODY = msgspec.json.encode(EVENT)


def signed(body: bytes = BODY, secret: bytes = SECRET, at: datetime = NOW) -> str:
    return signature(secret, int(at.timestamp()), body)


def test_signature_of_the_service_is_accepted() -> None:
    assert verify(BODY, signed(), SECRET, NOW) == EVENT
    assert verify(BODY, signed(), "a secret", NOW + timedelta(minutes=5)) == EVENT


def test_one_of_two_signatures_suffices_during_secret_rotation() -> None:
    header = signed(secret=b"new") + "," + signed().partition(",")[2]

    assert verify(BODY, header, SECRET, NOW) == EVENT


@pytest.mark.parametrize(
    ("body", "header", "now"),
    [
        (BODY + b" ", signed(), NOW),
        (BODY, signed(secret=b"another"), NOW),
        (BODY, signed(), NOW + timedelta(seconds=301)),
        (BODY, signed(), NOW - timedelta(seconds=301)),
        (BODY, signed().replace("t=", "t=1,t="), NOW),
        (BODY, signed().partition(",")[0], NOW),
        (BODY, signed().partition(",")[2], NOW),
        (BODY, signed().replace("v1=", "v1=ä"), NOW),
        (BODY, signed().replace("t=", "t=٣"), NOW),
        (BODY, "", NOW),
        (b"{}", signed(b"{}"), NOW),
        (b"\xff", signed(b"\xff"), NOW),
    ],
)
def test_other_signatures_are_refused(body: bytes, header: str, now: datetime) -> None:
    with pytest.raises(ClientError, match="cannot be trusted"):
        verify(body, header, SECRET, now)
