"""A copy of a service's database, made while the service works."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from scoter.errors import UsageError
from scoter.live.sqlite.database import BUSY, Reader
from scoter.live.sqlite.faults import fault
from scoter.store.disk import disk_errors, sync_folder


def back_up(source: Path, target: Path) -> int:
    """Write a copy that holds everything up to one moment; return its bytes.

    The service is not held up by it, only its log of changes is not brought into the file meanwhile. The copy appears
    under its name when it is whole and on disk for good; it is a database that a service can be started with.
    """
    with disk_errors("look for the copy", target):
        if target.exists():
            raise UsageError("there is something already", where=str(target), hint="Name another place for the copy.")
    Reader(source).close()  # which tells what is no service's
    draft = target.with_name(target.name + ".part")
    with disk_errors("write the copy", draft):
        # What is in it is for nobody else, as in the service's own directory, and that is what the copy's may become.
        draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)  # SQLite takes an empty file
        try:
            with closing(sqlite3.connect(source, timeout=BUSY, isolation_level=None)) as connection:
                connection.execute("VACUUM INTO ?", (str(draft),))
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            draft.rename(target)
            sync_folder(target.parent)
        except sqlite3.Error as error:
            draft.unlink(missing_ok=True)
            raise fault(error, draft) from error
        return target.stat().st_size
