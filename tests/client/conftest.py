from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.client.service import Clients


@pytest.fixture(params=["sync", "async"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Return clients of each kind in turn."""
    made = Clients(request.param == "async")
    yield made
    made.close()
