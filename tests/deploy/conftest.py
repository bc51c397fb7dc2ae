from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.deploy.containers import WEB

from scoter.simweb import SimServer, running


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WEB) as found:
        yield found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path as short as those in a container, so that sockets are in the service's directory."""
    with TemporaryDirectory(prefix="sc-", dir="/tmp") as found:
        yield Path(found)
