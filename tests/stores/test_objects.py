"""The contract of an object store, on two S3 servers, with faults."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from tests.stores.proxy import CUT, LOSE, NO_RANGE, PASS, SLOW_DOWN, STALL, S3Request, StoreProxy
from tests.stores.servers import KEY, SECRET

from scoter.errors import StoreConflict, UsageError, UserError
from scoter.store.objects.client import ABSENT
from scoter.store.objects.copies import local_file
from scoter.store.objects.path import StorePath, any_path
from scoter.store.objects.registry import client_of

pytestmark = pytest.mark.stores


@pytest.fixture
def root(url: str) -> StorePath:
    return StorePath.of(url)


def first(action: str, method: str, times: int = 1) -> Faults:
    return Faults(action, method, times)


class Faults:
    """Applies an action to the first requests of a method."""

    def __init__(self, action: str, method: str, times: int) -> None:
        self.action, self.method, self.left = action, method, times

    def __call__(self, request: S3Request) -> str:
        if request.method == self.method and self.left:
            self.left -= 1
            return self.action
        return PASS


def test_object_is_read_as_it_was_written(root: StorePath) -> None:
    file = root / "a" / "b.json"

    version = file.client.put(file.key, b"one")
    found = file.client.get(file.key)

    assert found is not None
    assert (found.data, found.version) == (b"one", version)
    assert found.age is not None
    assert -2 <= found.age < 60
    assert file.client.get(file.key + "x") is None
    assert file.client.size(file.key) == 3
    assert file.client.size(file.key + "x") is None


def test_end_and_range_of_an_object(root: StorePath, store: StoreProxy) -> None:
    client, key, data = root.client, (root / "part").key, bytes(range(256)) * 10
    client.put(key, data)
    store.reset()

    assert client.end(key, 100) == (data[-100:], 2_560)
    assert client.end(key, 10_000) == (data, 2_560)
    assert client.end(key + "x", 100) is None
    assert client.range(key, 5, 1_000) == data[5:1_000]
    assert client.range(key, 2_000, 9_000) == data[2_000:]
    assert store.counts() == {"GET": 5}
    client.put(key, b"")
    assert client.end(key, 100) == (b"", 0)


def test_an_empty_object_has_no_range_and_is_read_as_empty(root: StorePath, store: StoreProxy) -> None:
    """S3 itself answers 416, unlike the servers of these tests."""
    client, key = root.client, (root / "empty").key
    client.put(key, b"")
    store.decide = first(NO_RANGE, "GET", times=2)

    assert client.end(key, 100) == (b"", 0)
    assert client.range(key, 0, 10) == b""
    assert store.actions[NO_RANGE] == 2


@pytest.mark.parametrize("action", [SLOW_DOWN, CUT, LOSE])
def test_reading_a_part_of_an_object_survives_faults(root: StorePath, store: StoreProxy, action: str) -> None:
    client, key, data = root.client, (root / "part").key, bytes(range(256)) * 1_000
    client.put(key, data)
    store.decide = first(action, "GET", 2)

    assert client.end(key, 1_000) == (data[-1_000:], len(data))
    assert store.actions[action] == 2


def test_object_is_created_once(root: StorePath) -> None:
    client, key = root.client, (root / "LOCK").key
    client.put(key, b"first", ABSENT)

    with pytest.raises(StoreConflict):
        client.put(key, b"second", ABSENT)
    assert (root / "LOCK").read_bytes() == b"first"


def test_only_the_named_version_is_replaced(root: StorePath) -> None:
    client, key = root.client, (root / "CURRENT").key
    old = client.put(key, b"1", ABSENT)
    new = client.put(key, b"2", old)

    with pytest.raises(StoreConflict):
        client.put(key, b"3", old)
    with pytest.raises(StoreConflict):
        client.put(key + "-missing", b"3", new)
    assert (root / "CURRENT").read_bytes() == b"2"


@pytest.mark.parametrize("action", [SLOW_DOWN, LOSE, CUT])
def test_conditional_write_survives_faults(root: StorePath, store: StoreProxy, action: str) -> None:
    """If the response to a first attempt is lost, the retry finds its own content, not a conflict."""
    client, key = root.client, (root / "CURRENT").key
    version = client.put(key, b"1 token-a", ABSENT)
    store.decide = first(action, "PUT", 2)

    new = client.put(key, b"2 token-b", version)

    assert store.actions[action] == 2
    found = client.get(key)
    assert found is not None
    assert (found.data, found.version) == (b"2 token-b", new)


@pytest.mark.parametrize("action", [SLOW_DOWN, LOSE, CUT])
def test_upload_is_whole_or_absent(root: StorePath, store: StoreProxy, tmp_path: Path, action: str) -> None:
    file = tmp_path / "part"
    file.write_bytes(bytes(range(256)) * 4_000)
    seen: list[int | None] = []
    key = (root / "part").key
    store.decide = first(action, "PUT", 2)
    store.executed = lambda request: seen.append(request.length)

    root.client.upload(key, file)

    assert store.actions[action] == 2
    assert root.client.size(key) == file.stat().st_size
    assert Path(local_file(str(root / "part"))).read_bytes() == file.read_bytes()


def test_upload_never_replaces_an_object(root: StorePath, tmp_path: Path) -> None:
    for number, text in enumerate(("first", "second")):
        (tmp_path / f"part-{number}").write_text(text)
    root.client.upload((root / "part").key, tmp_path / "part-0")

    with pytest.raises(StoreConflict):
        root.client.upload((root / "part").key, tmp_path / "part-1")
    assert (root / "part").read_text() == "first"


@pytest.mark.parametrize("action", [SLOW_DOWN, LOSE])
def test_read_survives_faults(root: StorePath, store: StoreProxy, action: str) -> None:
    root.client.put((root / "a").key, b"content")
    store.decide = first(action, "GET", 2)

    assert (root / "a").read_bytes() == b"content"
    assert store.actions[action] == 2


def test_request_without_an_answer_is_repeated(
    root: StorePath, store: StoreProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoter.store.objects.s3.READ_TIMEOUT", 0.5)
    client, key = root.client, (root / "CURRENT").key
    version = client.put(key, b"1 token-a", ABSENT)
    store.decide = first(STALL, "PUT")

    client.put(key, b"2 token-b", version)

    assert store.actions[STALL] == 1
    assert (root / "CURRENT").read_bytes() == b"2 token-b"


def test_store_that_stays_busy_is_a_clear_error(
    root: StorePath, store: StoreProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoter.store.objects.s3.ATTEMPTS", 2)
    store.decide = lambda request: SLOW_DOWN

    with pytest.raises(UserError, match="reduce your request rate") as failed:
        root.client.put((root / "a").key, b"content")
    assert str(root / "a") in str(failed.value)
    assert not re.search(f"{KEY}|{SECRET}", str(failed.value))


def test_wrong_credentials_are_not_shown(root: StorePath, monkeypatch: pytest.MonkeyPatch, store: StoreProxy) -> None:
    from scoter.store.objects import registry

    registry._clients.clear()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    path = any_path(str(root / "a"))
    assert isinstance(path, StorePath)
    told = ""
    try:
        path.client.put(path.key, b"content")
    except UserError as failure:  # moto accepts any
        told = str(failure)
    assert not re.search(f"{KEY}|{SECRET}|another-secret", told)


def test_missing_credentials_are_a_clear_error(
    store: StoreProxy, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(UserError, match="there are no credentials"):
        (StorePath.of(url) / "a").is_file()


def test_missing_bucket_is_a_clear_error(store: StoreProxy) -> None:
    path = StorePath.of("s3://no-such-bucket/crawl")

    with pytest.raises(UsageError, match="there is no such bucket"):
        path.client.put((path / "a").key, b"1", ABSENT)
    with pytest.raises(UsageError, match="there is no such bucket"):
        path.is_dir()


def test_path_behaves_like_a_local_one(root: StorePath, tmp_path: Path) -> None:
    names = ("crawl.json", "segments/1/list-0.parquet", "segments/1/list-1.parquet", "segments/2/info")
    for place in (root, tmp_path / "crawl"):
        for name in names:
            if isinstance(place, StorePath):
                place.client.put((place / name).key, name.encode())
            else:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(name.encode())
    local = tmp_path / "crawl"

    for make in (
        lambda path: sorted(each.name for each in path.iterdir()),
        lambda path: sorted(each.name for each in (path / "segments").iterdir() if each.is_dir()),
        lambda path: sorted(each.name for each in (path / "segments" / "1").glob("list-*")),
        lambda path: sorted(each.stat().st_size for each in path.rglob("*") if each.is_file()),
        lambda path: [(path / name).exists() for name in ("crawl.json", "segments", "none")],
        lambda path: [(path / name).is_dir() for name in ("crawl.json", "segments", "none")],
        lambda path: [(path / name).is_file() for name in ("crawl.json", "segments", "none")],
        lambda path: (path / "segments" / "2" / "info").read_text("utf-8"),
        lambda path: (path / "segments" / "2" / "info").parent.name,
        lambda path: (path / "segments" / "2" / "part.parquet").stem,
    ):
        assert make(root) == make(local)

    with (root / "segments" / "1" / "list-0.parquet").open("rb") as file:
        assert file.read(9) == b"segments/"
    with pytest.raises(FileNotFoundError):
        (root / "none").read_bytes()
    (root / "crawl.json").unlink()
    (root / "crawl.json").unlink(missing_ok=True)
    assert not (root / "crawl.json").exists()


def test_long_listings_and_removals_are_complete(root: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.store.objects.s3._MOST_KEYS", 5)
    for number in range(13):
        root.client.put((root / f"many/{number}").key, b"")

    assert len(root.client.entries((root / "many").key)) == 13
    root.client.delete(root.client.tree(root.key))
    assert root.client.tree(root.key) == {}


def test_age_is_measured_by_the_clock_of_the_store(root: StorePath, store: StoreProxy) -> None:
    root.client.put((root / "a").key, b"")
    for skew in (timedelta(hours=-5), timedelta(hours=7)):
        store.skew = skew
        found = root.client.get((root / "a").key)
        assert found is not None
        assert found.age is not None
        assert -2 <= found.age < 60


def test_local_copy_is_downloaded_once(root: StorePath, store: StoreProxy) -> None:
    root.client.put((root / "v1/part.parquet").key, b"rows")
    store.reset()

    paths = {local_file(str(root / "v1/part.parquet")) for _ in range(3)}

    assert store.counts() == {"GET": 1}
    assert [Path(path).read_bytes() for path in paths] == [b"rows"]
    assert client_of(str(root))[0] is root.client
