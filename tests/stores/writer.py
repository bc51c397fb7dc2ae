"""A process that writes a table, and waits at a moment that a test chooses.

python writer.py URL LEASE hold
python writer.py URL LEASE commit writing|checked|never
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime

import pyarrow as pa

from scoter.errors import UserError
from scoter.store.objects.path import StorePath
from scoter.store.tables import NewVersion, Table
from scoter.store.tables.remote import ObjectStorage
from scoter.store.tables.storage import this_process

SCHEMA = pa.schema([("url", pa.utf8())])


def pause(name: str, moment: str) -> None:
    """Tell the test that a moment is reached, and give it time to stop this process."""
    if name == moment:
        print(name, flush=True)
        time.sleep(2)


def commit(root: StorePath, moment: str) -> None:
    with Table.write(root, SCHEMA, writer=str(os.getpid())) as new:
        with new.part() as part:
            part.write(pa.RecordBatch.from_pylist([{"url": "http://a.test/"}], schema=SCHEMA))
        pause("writing", moment)
        _pause_after_check(new, moment)
        new.commit()


def _pause_after_check(new: NewVersion, moment: str) -> None:
    lock = new._lock
    assert lock is not None
    check = lock.check

    def slow_check() -> None:
        check()
        pause("checked", moment)

    lock.check = slow_check  # type: ignore[method-assign]


def main() -> int:
    url, lease, what, *moment = sys.argv[1:]
    root = StorePath.of(url)
    root.client.lease_seconds = float(lease)
    try:
        if what == "commit":
            commit(root, moment[0])
            return 0
        ObjectStorage(root).lock("LOCK", this_process("hold", datetime.now(UTC)))
        print("held", flush=True)
        time.sleep(60)
    except UserError as failure:
        print("refused", str(failure).replace("\n", " "), flush=True)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
