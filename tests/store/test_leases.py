"""The times of a lease in an object store, on simulated clocks. ``tests/stores`` has the same on real servers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from scoter.errors import StoreConflict, UsageError, UserError
from scoter.store.objects import leases
from scoter.store.objects.client import ABSENT, ObjectClient, StoredObject
from scoter.store.objects.leases import StoreLease
from scoter.store.tables.storage import this_process

SECONDS = 60.0
NOW = datetime(2026, 11, 15, tzinfo=UTC)


class OneObject:
    """A store with one object, whose clock the test advances."""

    has_conditions = True
    lease_seconds = SECONDS

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slow = 0.0
        self.is_down = False
        self._data: bytes | None = None
        self._version, self._written = 0, 0.0

    def url(self, key: str) -> str:
        return f"s3://bucket/{key}"

    def get(self, key: str) -> StoredObject | None:
        if self._data is None:
            return None
        return StoredObject(self._data, str(self._version), self.now - self._written)

    def put(self, key: str, data: bytes, replaces: str | None = None) -> str:
        if self.is_down:
            raise UserError("the store does not answer")
        if replaces != (ABSENT if self._data is None else str(self._version)):
            raise StoreConflict("another version")
        self._data, self._written = data, self.now
        self._version += 1
        self.now += self.slow
        return str(self._version)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> OneObject:
    found = OneObject()
    monkeypatch.setattr(leases, "steady_clock", lambda: found.now)
    monkeypatch.setattr(leases, "is_gone", lambda process: False)  # as if on another machine
    # Renewals by the background thread would hide what ``check`` does.
    monkeypatch.setattr(StoreLease, "_renew_in_background", lambda self: None)
    return found


def take(store: OneObject) -> StoreLease:
    return StoreLease.take(cast("ObjectClient", store), "LOCK", this_process("inject", NOW), "s3://bucket/crawl")


def test_lease_is_not_taken_over_before_its_time_and_the_resolution_of_object_times(store: OneObject) -> None:
    take(store)

    store.now += SECONDS + 2.0  # the time of an object may be up to a second too early on either side
    with pytest.raises(UsageError):
        take(store)
    store.now += 0.1
    take(store).check()


def test_holder_renews_before_anybody_may_take_its_lease(store: OneObject) -> None:
    lease = take(store)
    store.is_down = True

    store.now += SECONDS / 2 - 0.1
    lease.check()  # still certain
    store.now += 0.2
    with pytest.raises(UserError, match="does not answer"):
        lease.check()  # must be renewed first, though nobody can take it for half a minute


def test_lease_counts_from_before_the_request(store: OneObject) -> None:
    store.slow = SECONDS / 2  # the store wrote the object at once, but its answer was late
    lease = take(store)
    store.is_down = True

    with pytest.raises(UserError, match="does not answer"):
        lease.check()


def test_holder_that_was_suspended_publishes_nothing(store: OneObject) -> None:
    late = take(store)
    store.now += SECONDS + 3
    take(store)

    with pytest.raises(UserError, match="another process took it"):
        late.check()
