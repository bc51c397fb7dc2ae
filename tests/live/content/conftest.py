"""A small disk. The WARC reader is imported first, because it silences warnings of fastwarc's first import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disks import disk_of

import scoter.store.warc.reader  # noqa: F401


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(2, tmp_path / "disk") as folder:
        yield folder
