"""A lookup process and the core behind it, in one process, as a client of the public port sees them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.http.raw import serving
from tests.live.api.fakes import Bench
from tests.waiting import until

from scoter.config.sections.live import WebSettings
from scoter.http.access import AccessControl
from scoter.http.proxy import CoreProxy
from scoter.live.api.lookup_app import LookupApp
from scoter.live.api.metrics import LookupMetrics


class Chain:
    """The public port, and the counted refusals."""

    def __init__(self, port: int, bench: Bench, counts: LookupMetrics) -> None:
        self.port = port
        self.bench = bench
        self._counts = counts

    def refused(self) -> dict[str, float]:
        """Return the connections refused or closed since the last call, by reason."""
        return {labels[0]: count for labels, count in self._counts.take().refused}


@asynccontextmanager
async def chained(
    folder: Path,
    bench: Bench | None = None,
    limits: WebSettings = WebSettings(),  # noqa: B008  frozen
    passed_on: int = 5_000,
) -> AsyncIterator[Chain]:
    """Serve both until the block ends."""
    bench = bench or Bench()
    access = AccessControl(bench.stores.keys, required=False)
    counts = LookupMetrics(access)
    pass_on = CoreProxy(folder / "core.sock", most=passed_on)
    app = LookupApp(bench.services.lookup, access, pass_on, metrics=counts)
    async with (
        serving(bench.app, path=folder / "core.sock"),
        serving(app, limits=limits, note=counts.refused) as port,
    ):
        try:
            yield Chain(port, bench, counts)
        finally:
            bench.streams.close()
            await until(lambda: not len(pass_on))
            pass_on.close()
    await asyncio.sleep(0)  # transports end one loop iteration after they were closed
