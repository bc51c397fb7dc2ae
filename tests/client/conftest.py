from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.client.service import Clients


@pytest.fixture(params=["sync", "async"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Both kinds of client, one after the other."""
    made = Clients(request.param == "async")
    yield made
    made.close()
