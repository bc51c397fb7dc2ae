"""Locks in an object store: processes that are killed, suspended, or have wrong clocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from weakref import WeakSet

import pytest
from tests.stores.proxy import FORBID, LACK, LOSE, PASS, PRETEND, S3Request, StoreProxy

from scoter.errors import UsageError, UserError
from scoter.store.objects import leases
from scoter.store.objects.leases import LeaseView, StoreLease
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table
from scoter.store.tables.remote import ObjectStorage
from scoter.store.tables.storage import this_process

pytestmark = pytest.mark.stores

WRITER = Path(__file__).with_name("writer.py")
SHORT = 2.0
PATIENCE = 30.0


@pytest.fixture
def root(url: str) -> StorePath:
    path = StorePath.of(url)
    path.client.lease_seconds = SHORT
    return path


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes of this machine look like those of other machines."""
    monkeypatch.setattr(leases, "is_gone", lambda process: False)


def take(root: StorePath, command: str = "inject") -> StoreLease:
    holder = this_process(command, datetime.now(UTC))
    return StoreLease.take(root.client, (root / "LOCK").key, holder, str(root))


def take_when_expired(root: StorePath, command: str) -> StoreLease:
    """Take a lease that expires soon. A renewal that was under way when its holder stopped may come late."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return take(root, command)
        except UsageError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def stop_renewing(lease: StoreLease) -> None:
    """Leave a lease as a killed process leaves it."""
    lease._ended.set()


def test_lease_excludes_others_until_it_is_released(root: StorePath) -> None:
    lease = take(root)
    with pytest.raises(UsageError, match=r"it is being written by process \d+ on .* \(inject\)"):
        take(root, "generate")
    lease.check()
    lease.release()

    take(root, "generate").release()


def test_store_that_ignores_conditions_is_refused(
    root: StorePath, store: StoreProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_proven", WeakSet())
    writes = count()

    def decide(request: S3Request) -> str:
        """Let the lock be created again, as if the store ignored conditions."""
        return PRETEND if request.method == "PUT" and next(writes) else PASS

    store.decide = decide

    with pytest.raises(UsageError, match="the store ignores If-None-Match, which locks need"):
        take(root)

    assert root.client.get((root / "LOCK").key) is None


@pytest.mark.parametrize(("action", "hint"), [(FORBID, "Check the credentials"), (LACK, "may lack conditional writes")])
def test_refusal_says_what_to_check(root: StorePath, store: StoreProxy, action: str, hint: str) -> None:
    store.decide = lambda request: action if request.method == "PUT" else PASS

    with pytest.raises(UserError, match="cannot write the object") as caught:
        take(root)

    assert hint in caught.value.hint


def test_lease_is_renewed_while_it_is_held(root: StorePath, elsewhere: None) -> None:
    lease = take(root)
    until = time.monotonic() + SHORT + 4
    while time.monotonic() < until:
        with pytest.raises(UsageError):
            take(root, "generate")
        time.sleep(0.5)
    lease.check()
    lease.release()


@pytest.mark.parametrize("hours", [-5, 7])
def test_expiry_does_not_depend_on_the_clocks_of_machines(
    root: StorePath, store: StoreProxy, elsewhere: None, hours: int
) -> None:
    store.skew = timedelta(hours=hours)
    stop_renewing(take(root))
    with pytest.raises(UsageError):
        take(root, "generate")

    take_when_expired(root, "generate").release()


def test_former_holder_notices_that_its_lease_was_taken(root: StorePath, elsewhere: None) -> None:
    late = take(root)
    stop_renewing(late)
    other = take_when_expired(root, "generate")

    with pytest.raises(UserError, match="has expired, and another process took it"):
        late.check()
    with pytest.raises(UserError, match="has expired"):
        LeaseView(root.client, (root / "LOCK").key, late.token).check()
    late.release()
    other.check()
    LeaseView(root.client, (root / "LOCK").key, other.token).check()
    other.release()


def test_expired_lease_that_nobody_took_is_renewed(root: StorePath) -> None:
    lease = take(root)
    stop_renewing(lease)
    time.sleep(SHORT + 1)

    lease.check()


def test_renewals_without_a_response_do_not_lose_the_lease(root: StorePath, store: StoreProxy) -> None:
    lost = iter([LOSE] * 3)
    lease = take(root)
    store.decide = lambda request: next(lost, PASS) if request.method == "PUT" else PASS
    until = time.monotonic() + PATIENCE
    while store.actions[LOSE] < 3 and time.monotonic() < until:
        time.sleep(0.1)

    lease.check()
    lease.release()
    assert store.actions[LOSE] == 3


def test_one_of_many_processes_gets_a_lease(root: StorePath, url: str) -> None:
    processes = [writer(url, "hold") for _ in range(4)]
    said = [process.stdout.readline().strip() for process in processes if process.stdout is not None]
    for process in processes:
        process.kill()
        process.communicate()

    assert sorted(word.split()[0] for word in said) == ["held", "refused", "refused", "refused"]


@pytest.mark.parametrize("moment", ["writing", "checked"])
def test_suspended_writer_publishes_nothing_after_its_lease_expired(root: StorePath, url: str, moment: str) -> None:
    """It is stopped while it writes, or after it has checked its lease and before it publishes."""
    late = writer(url, "commit", moment)
    assert late.stdout is not None
    assert late.stdout.readline().strip() == moment
    os.kill(late.pid, signal.SIGSTOP)
    time.sleep(SHORT + 3.5)

    other = writer(url, "commit", "never")
    told, _ = other.communicate(timeout=60)
    assert other.returncode == 0, told
    os.kill(late.pid, signal.SIGCONT)
    out, _ = late.communicate(timeout=60)

    assert late.returncode == 2, out
    assert "expired" in out or "another process has changed it" in out
    with Table.open(root) as table:
        assert table.manifest.writer == str(other.pid)


def test_killed_writer_is_noticed_at_once(root: StorePath, url: str) -> None:
    root.client.lease_seconds = 600.0
    killed = writer(url, "commit", "writing", lease="600")
    assert killed.stdout is not None
    assert killed.stdout.readline().strip() == "writing"
    killed.kill()
    killed.communicate()

    lock = ObjectStorage(root).lock("LOCK", this_process("inject", datetime.now(UTC)))
    lock.release()


def writer(url: str, *arguments: str, lease: str = str(SHORT)) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WRITER), url, lease, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
