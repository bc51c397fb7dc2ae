"""The temporary folders of processes that use object stores."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scoter.store.disk import Scratch
from scoter.store.objects import copies
from scoter.store.objects.fsspec_client import FsspecClient

PROGRAM = """
from scoter.store.objects.copies import process_folder
folder = process_folder()
print("ready", flush=True)
input()
assert folder.is_dir()
"""


def test_processes_that_start_together_keep_their_folders(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(6)
    ]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == b"ready\n"

    folders = list(tmp_path.glob("scoter-*/processes/*"))
    for each in started:
        each.communicate(b"\n")

    assert len(folders) == 6
    assert [each.returncode for each in started] == [0] * 6
    assert list(tmp_path.glob("scoter-*/processes/*")) == []


def test_no_other_process_removes_folders_while_one_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(copies, "_folder", None)

    def create(inside: Path, prefix: str) -> Scratch:
        with (copies.base_folder() / "processes.lock").open("ab") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Scratch(inside, prefix)

    monkeypatch.setattr(copies, "Scratch", create)

    assert copies.process_folder().is_dir()


def test_lost_connection_is_not_taken_for_a_store_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FsspecClient("memory://folder", {})

    def reset(*_: object, **__: object) -> None:
        raise ConnectionResetError("reset by the store")

    monkeypatch.setattr(client._fs, "pipe_file", reset)

    with pytest.raises(Exception, match="reset by the store") as caught:
        client.put("/folder/LOCK", b"me", replaces="")
    assert "cannot create" not in str(caught.value)
