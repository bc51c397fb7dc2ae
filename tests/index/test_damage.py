"""Indexes that are damaged, too new, locked or on a full disk, and documents and queries that are too much."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.disks import disk_of
from tests.index.indexes import document, search, urls, write, writer

from scoter.core.document import Document
from scoter.errors import MadeByNewer, UsageError, UserError
from scoter.index.query import LONGEST_QUERY
from scoter.plugins import IndexRun

_KINDS = ("meta.json", "dictionary", "*.idx", "*.pos", "*.term", "*.store", "*.fast", "*.fieldnorm")


def pages(count: int) -> list[Document]:
    return [document(f"http://h{n}.org/", f"Seals {n}", f"Grey seals number {n} rest. " * 20) for n in range(count)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write(folder, *pages(100))
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def file_of(folder: Path, kind: str) -> Path:
    return next((folder / "index").glob(f"*/{kind}"))


def is_current(folder: Path, number: int = 2) -> bool:
    return writer().is_current(IndexRun(directory=folder, number=number))


def test_an_intact_index_is_current(whole: Path) -> None:
    assert is_current(whole)


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("how", ["removed", "truncated", "zeroed"])
def test_a_damaged_file_is_reported_and_makes_the_next_run_rebuild_the_index(copy: Path, kind: str, how: str) -> None:
    file = file_of(copy, kind)
    data = file.read_bytes()
    match how:
        case "removed":
            file.unlink()
        case "truncated":
            file.write_bytes(data[: len(data) // 2])
        case _:
            file.write_bytes(bytes(len(data)))

    with pytest.raises(UserError, match="damaged") as told:
        search(copy, "seals")
    assert "--force" in told.value.hint
    assert not is_current(copy)


@pytest.mark.parametrize("kind", _KINDS[1:])
def test_a_flipped_bit_makes_the_next_run_rebuild_the_index(copy: Path, kind: str) -> None:
    file = file_of(copy, kind)
    chance = random.Random(kind)
    data = bytearray(file.read_bytes())
    data[chance.randrange(len(data) // 2)] ^= 1 << chance.randrange(8)
    file.write_bytes(data)

    assert not is_current(copy)
    write(copy, *pages(3), number=2, rebuild=True)
    assert len(urls(copy, "seals")) == 3


def test_a_damaged_file_with_the_same_size_and_time_makes_the_next_run_rebuild_the_index(copy: Path) -> None:
    write(copy, number=2)
    file = file_of(copy, "*.pos")
    before = file.stat()
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not is_current(copy, 3)


def test_damage_below_the_file_system_is_found_by_every_sixteenth_run(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(copy, number=2)
    file = file_of(copy, "*.pos")
    before = file.stat()
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    stat = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda path, **options: before if path == file else stat(path, **options)
    )  # a disk that returns other bytes than were written

    assert is_current(copy, 3)
    state = (copy / "index" / "scoter.json").read_text()
    (copy / "index" / "scoter.json").write_text(state.replace('"run":2', '"run":15'))
    assert not is_current(copy, 16)


@pytest.mark.parametrize("seed", range(20))
def test_a_search_in_damaged_texts_ends_with_a_result_or_one_error(copy: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = file_of(copy, "*.store")
    data = bytearray(file.read_bytes())
    for _ in range(4):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)

    for query in ("seals", '"grey seals"', "sealz", "seals sort:date"):
        try:
            search(copy, query, explain=True)
        except UserError as told:
            assert "damaged" in told.message  # noqa: PT017 - some damage goes unnoticed


def test_an_unfinished_file_of_a_killed_run_does_not_matter(copy: Path) -> None:
    (file_of(copy, "meta.json").parent / f"{'0' * 32}.idx").write_bytes(b"half")

    assert is_current(copy)


def test_an_index_of_a_newer_version_is_only_replaced_when_forced(copy: Path) -> None:
    (copy / "index" / "scoter.json").write_text('{"format": 99}')

    with pytest.raises(MadeByNewer, match="newer version"):
        is_current(copy)
    with pytest.raises(MadeByNewer):
        write(copy, *pages(1), number=2)
    write(copy, *pages(1), number=2, rebuild=True)
    assert len(urls(copy, "seals")) == 1


def test_an_index_of_an_older_version_is_rebuilt(copy: Path) -> None:
    (copy / "index" / "scoter.json").write_text('{"format": 1}')

    with pytest.raises(UserError, match="older version"):
        search(copy, "seals")
    assert not is_current(copy)


_HOLD = """
import sys, tantivy
writer = tantivy.Index.open(sys.argv[1]).writer(heap_size=15_000_000, num_threads=1)
print("held", flush=True)
sys.stdin.read()
"""


def test_an_index_that_another_process_writes_is_refused_until_it_ends(copy: Path) -> None:
    data = file_of(copy, "meta.json").parent
    command = [sys.executable, "-c", _HOLD, str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another process is writing the index"):
            write(copy, *pages(1), number=2)
        assert urls(copy, "seals")
        other.kill()

    write(copy, document("http://new.org/", "Walrus", "x"), number=2)
    assert urls(copy, "walrus") == ["http://new.org/"]


def incompressible(count: int) -> list[Document]:
    chance = random.Random(1)
    return [
        document(f"http://h{n}.org/", f"Seals {n}", " ".join(f"{chance.getrandbits(64):x}" for _ in range(2_000)))
        for n in range(count)
    ]


@pytest.mark.slow
def test_a_full_disk_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    with disk_of(3, tmp_path / "disk") as disk:
        write(disk, document("http://old.org/", "Walrus", "x"))
        with pytest.raises(UserError, match="cannot write the index") as told:
            write(disk, *incompressible(150), number=2)

        assert "free some space" in told.value.hint
        assert urls(disk, "walrus") == ["http://old.org/"]
        assert search(disk, "seals").total == 0
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        write(disk, *incompressible(150), number=2)
        assert search(disk, "seals").total == 150
        assert is_current(disk)


@pytest.mark.slow
def test_a_limit_for_the_size_of_files_leaves_the_index_as_it_was(copy: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from tests.index.indexes import write;"
        "from tests.index.test_damage import incompressible; from scoter.errors import UserError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "try: write(Path(sys.argv[1]), *incompressible(150), number=2)\n"
        "except UserError as failure: print(failure.message)"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code, str(copy)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )

    assert done.stdout.startswith("cannot write the index: ")
    assert search(copy, "seals").total == 100
    write(copy, document("http://new.org/", "Walrus", "x"), number=2)
    assert urls(copy, "walrus") == ["http://new.org/"]


@pytest.mark.parametrize(
    "query",
    ["seals " * 2_000, "a" * 10_000, '"' + "seals " * 1_500 + '"', "(" * 10_000 + "seals" + ")" * 10_000],
)
def test_a_long_query_is_refused(whole: Path, query: str) -> None:
    with pytest.raises(UsageError, match="characters"):
        search(whole, query)


_HALF = LONGEST_QUERY // 2 - 10


@pytest.mark.parametrize(
    "query",
    [
        "(" * _HALF + "seals" + ")" * _HALF,
        '"' * _HALF + "seals",
        "seals" + '"' * 11,
        "-" * _HALF + "seals" + " seals",
        "seals AND (grey OR NOT ((rest",
        "seals\0grey",
        "seals \udcff\ud800",
        "\ud83e seals",
        "seals site:a_b.example.org",
        'seals site:"(.*[" -host:\\\\',
        "seals -type:*",
        "seals " + "-x " * 20,
        "seals-" * 150 + "seals",
        "東" * _HALF,
        "seals lang:\ud800",
    ],
)
def test_a_strange_query_gets_a_result_or_is_refused(whole: Path, query: str) -> None:
    try:
        found = search(whole, query, explain=True)
    except UsageError:
        return
    assert len(found.hits) <= 10


@pytest.mark.parametrize("query", ["seals\0grey", "seals \udcff", "(seals", 'seals "grey'])
def test_nuls_surrogates_and_brackets_do_not_keep_words_from_being_found(whole: Path, query: str) -> None:
    assert search(whole, query).total == 100
