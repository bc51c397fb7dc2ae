from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.live.memory.stores import MemoryStores
from tests.live.stores.fakes import Stores, Time

from scoter.config.sections.live import LiveSettings
from scoter.live.intake.journal_rules import MOST_GIVEN_UP
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

Make: TypeAlias = Callable[..., Awaitable[Stores]]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, time: Time, tmp_path: Path) -> Iterator[Make]:
    """Create the stores of one service, with settings."""
    with ExitStack() as opened:

        async def make_memory(most_given_up: int = MOST_GIVEN_UP, **live: Any) -> Stores:
            settings = LiveSettings(**live)
            return MemoryStores(clock=time.clock, steady_clock=time.tick, live=settings, most_given_up=most_given_up)

        async def make_sqlite(most_given_up: int = MOST_GIVEN_UP, **live: Any) -> Stores:
            db = ServiceDb(tmp_path / "service.sqlite", clock=time.clock, steady_clock=time.tick, boot="a boot")
            opened.callback(db.close)
            return SqliteStores(db, LiveSettings(**live), most_given_up=most_given_up)

        yield make_memory if request.param == "memory" else make_sqlite


@pytest.fixture
async def stores(make: Make) -> Stores:
    return await make()


@pytest.fixture
def db(tmp_path: Path, time: Time) -> Iterator[ServiceDb]:
    database = ServiceDb(tmp_path / "service.sqlite", clock=time.clock, steady_clock=time.tick, boot="a boot")
    yield database
    database.close()
