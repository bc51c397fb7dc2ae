"""The temporary folders of processes that use object stores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
