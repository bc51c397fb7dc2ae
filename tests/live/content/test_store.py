"""The archive: archived responses can be read back, despite kills and full disks."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.live.content.outcomes import Clock
from tests.store.exchanges import ABOUT, assert_sound, exchange, records
from tests.waiting import until

from scoter.errors import ContentUnavailable, Defect, UserError
from scoter.live.api.records import Archived
from scoter.live.content.archive import WarcContent, read
from scoter.store.warc import WarcReader, unfinished
from scoter.store.warc.part import OPEN, WarcPart


def content(folder: Path, *, size: int = 2**30, clock: Clock | None = None, most_waiting: int = 256) -> WarcContent:
    age = timedelta(hours=1)
    return WarcContent(folder, ABOUT, size=size, age=age, clock=clock or Clock(), most_waiting=most_waiting)


def place(found: Archived | None) -> Archived:
    assert found is not None
    return found


def archives(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.warc.gz"))


def urls_in(folder: Path) -> list[str]:
    found = []
    for path in archives(folder):
        with WarcReader(path) as reader:
            found += [each.url for each in reader]
    return sorted(found)


async def test_archived_response_is_readable_before_and_after_rotation(tmp_path: Path) -> None:
    first, second = exchange("http://a.org/", b"one" * 50, status=301), exchange("http://b.org/", b"two" * 50)

    async with content(tmp_path) as store:
        kept = [place(each) for each in await store.keep([first, second], message="m1", fetch="f1")]
        before = [read(store.folder, each) for each in kept]
        assert await store.keep([], message="m2", fetch="f2") == ()
    after = [read(tmp_path, each) for each in kept]

    assert [(each.url, each.status, each.body) for each in before] == [
        ("http://a.org/", 301, b"one" * 50),
        ("http://b.org/", 200, b"two" * 50),
    ]
    assert after == before
    (path,) = archives(tmp_path)
    assert_sound(path)
    assert [each.file for each in kept] == [path.name, path.name]
    assert len(path.with_suffix("").with_suffix(".cdxj").read_bytes().splitlines()) == 2


async def test_old_file_is_finished_while_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.live.content.archive._WAKE", 0.01)
    clock = Clock()
    async with content(tmp_path, clock=clock) as store:
        await store.keep([exchange()], message="m", fetch="f")
        assert archives(tmp_path) == []
        clock.now += timedelta(hours=2)

        async with asyncio.timeout(20):
            await until(lambda: archives(tmp_path))


async def test_archived_exchange_has_message_fetch_and_times(tmp_path: Path) -> None:
    async with content(tmp_path) as store:
        await store.keep([exchange()], message="m 7\r\nX-Evil: yes", fetch="f1")

    (path,) = archives(tmp_path)
    (facts,) = [block for fields, block in records(path) if fields["WARC-Type"] == "metadata"]
    assert facts.decode().splitlines() == [
        "messageId: m 7 X-Evil: yes",
        "fetchId: f1",
        "fetchTimeMs: 250",
        "firstByteMs: 125",
    ]


async def test_many_concurrent_calls_are_all_archived(tmp_path: Path) -> None:
    pages = [exchange(f"http://a.org/{number}", f"page {number}".encode()) for number in range(300)]

    async with content(tmp_path, most_waiting=3, size=20_000) as store:
        kept = await asyncio.gather(*(store.keep([page], message="m", fetch=page.url.text) for page in pages))
        found = [read(store.folder, place(each[0])) for each in kept]

    assert [each.body for each in found] == [page.body for page in pages]
    assert len(archives(tmp_path)) > 3
    assert len(urls_in(tmp_path)) == 300
    for path in archives(tmp_path):
        assert_sound(path)


async def test_cancelled_caller_does_not_block_others(tmp_path: Path) -> None:
    async with content(tmp_path, most_waiting=1) as store:
        first = asyncio.create_task(store.keep([exchange()], message="m", fetch="1"))
        await asyncio.sleep(0)
        first.cancel()
        kept = await store.keep([exchange("http://b.org/")], message="m", fetch="2")

        assert (read(store.folder, place(kept[0]))).url == "http://b.org/"


async def test_files_of_a_killed_service_are_recovered_and_readable(tmp_path: Path) -> None:
    part = WarcPart(tmp_path, "live-1", ABOUT, opened=Clock()())
    there = part.append(exchange("http://a.org/", b"old"))
    cut = part.append(exchange("http://b.org/", b"cut" * 10))
    part.close()
    os.truncate(part.draft, cut.offset + 10)
    old = Archived(there.file, there.offset, there.length)

    async with content(tmp_path) as store:
        meanwhile = read(store.folder, old)

    assert meanwhile.body == b"old"
    assert read(tmp_path, old).body == b"old"
    assert unfinished(tmp_path) == []
    assert_sound(part.path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "x.warc.gz/../y.warc.gz", ".warc.gz", "x.cdxj"])
def test_location_cannot_leave_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="not the name of an archive"):
        read(tmp_path, Archived(name, 0, 0))


def test_expired_response_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no longer in the archive"):
        read(tmp_path, Archived("live-1.warc.gz", 0, 0))


async def test_closed_archive_refuses_exchanges(tmp_path: Path) -> None:
    store = content(tmp_path)
    store.close()

    with pytest.raises(Defect):
        await store.keep([exchange()], message="m", fetch="f")


async def test_abandoned_file_is_followed_by_another(tmp_path: Path) -> None:
    async with content(tmp_path) as store:
        first = place((await store.keep([exchange("http://a.org/")], message="m", fetch="1"))[0])
        (draft,) = unfinished(tmp_path)
        parts = [each for each in _open_parts() if each.draft == draft]
        parts[0].close()  # as when a broken record cannot be taken back
        second = place((await store.keep([exchange("http://b.org/")], message="m", fetch="2"))[0])

        assert first.file != second.file
        assert (read(store.folder, first)).url == "http://a.org/"
        assert (read(store.folder, second)).url == "http://b.org/"
    assert len(archives(tmp_path)) == 2


def _open_parts() -> list[WarcPart]:
    return [each for each in gc.get_objects() if isinstance(each, WarcPart)]


@pytest.mark.parametrize("size", [2**30, 100_000])
async def test_full_disk_refuses_keeps_complete_records_and_recovers(small_disk: Path, size: int) -> None:
    dice = random.Random(size)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1_000_000))
    kept: dict[str, Archived] = {}
    refused: list[str] = []

    async with content(small_disk / "content", size=size) as store:
        for number in range(60):
            url = f"http://a.org/{number}"
            try:
                found = await store.keep([exchange(url, dice.randbytes(30_000))], message="m", fetch="f")
                kept[url] = place(found[0])
            except ContentUnavailable as error:
                refused.append(str(error))
            if len(refused) == 5:
                ballast.unlink(missing_ok=True)
        for url, archived in kept.items():
            assert (read(store.folder, archived)).url == url

    assert len(refused) >= 5
    assert "Make room on the disk" in refused[0]
    assert len(kept) > 40
    assert unfinished(small_disk / "content") == []
    assert urls_in(small_disk / "content") == sorted(kept)
    for path in archives(small_disk / "content"):
        assert_sound(path)


async def test_file_unfinished_on_a_full_disk_is_recovered_at_the_next_start(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1_900_000))
    store = content(small_disk / "content")
    kept = await _kept_until_it_is_full(store)
    with ballast.open("ab") as file, pytest.raises(OSError, match="No space"):
        file.write(bytes(100_000))

    store.close()
    left = unfinished(small_disk / "content")
    ballast.unlink()
    await _reopened(small_disk / "content")

    assert len(left) == 1
    assert unfinished(small_disk / "content") == []
    assert len(urls_in(small_disk / "content")) == kept > 10


async def _kept_until_it_is_full(store: WarcContent) -> int:
    dice = random.Random(7)
    for number in range(100):
        try:
            await store.keep([exchange(f"http://a.org/{number}", dice.randbytes(3_000))], message="m", fetch="f")
        except ContentUnavailable:
            return number
    raise AssertionError("the disk is larger than that")


WRITER = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from tests.store.exchanges import ABOUT, exchange
from scoter.live.content.archive import WarcContent

async def one(store, number):
    page = exchange(f"http://example.com/{number}", str(number).encode() * 2_000)
    (found,) = await store.keep([page], message="m", fetch=str(number))
    print(number, found.file, found.offset, found.length, flush=True)

async def main():
    store = WarcContent(Path(sys.argv[1]), ABOUT, size=60_000, age=timedelta(hours=1))
    number = int(sys.argv[2])
    while True:
        await asyncio.gather(*(one(store, number + each) for each in range(20)))
        number += 20

asyncio.run(main())
"""


@pytest.mark.slow
def test_killed_archive_has_everything_it_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(6)
    told: dict[int, Archived] = {}

    for round_ in range(6):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(round_ * 100_000)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(dice.randrange(1, 200)):
                said, file, offset, length = process.stdout.readline().split()
                told[int(said)] = Archived(file, int(offset), int(length))
            process.send_signal(signal.SIGKILL)
        for number, archived in told.items():
            assert read(tmp_path, archived).body == str(number).encode() * 2_000

    asyncio.run(_reopened(tmp_path))
    assert unfinished(tmp_path) == []
    for number, archived in told.items():
        assert read(tmp_path, archived).body == str(number).encode() * 2_000
    for path in archives(tmp_path):
        assert_sound(path)
    assert not list(tmp_path.glob(f"*{OPEN}"))


async def _reopened(folder: Path) -> None:
    async with content(folder):
        pass
