"""A service for Schemathesis: ``python -m tests.live.api.schema [keys]`` prints its port and a token, and serves.

It is the whole API on the real server, with stores in memory. Nothing takes long: a lookup waits only briefly, and an
event stream, which would never end by itself, is ended soon after it started.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import MutableMapping
from datetime import timedelta
from typing import Any

import uvloop
from tests.http.raw import serving
from tests.live.api.fakes import Bench
from tests.live.fakes import KeptContent

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import App, Receive, Scope, Send


def soon_left(app: App) -> App:
    """Return an application whose event streams end after a moment, as if their clients had disconnected."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["raw_path"].endswith(b"/events"):
            await app(scope, receive, send)
            return
        is_whole = False

        async def leave() -> MutableMapping[str, Any]:
            await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}

        async def pass_on(message: MutableMapping[str, Any]) -> None:
            nonlocal is_whole
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        await app(scope, leave, pass_on)
        if not is_whole:
            await send({"type": "http.response.body"})

    return run


async def main(*, keys: bool) -> None:
    """Serve until this process is killed."""
    bench = Bench(required=keys, content=KeptContent(), web=WebSettings(longest_wait=timedelta(milliseconds=10)))
    await bench.know("http://a.example/")
    await bench.client.post("/v1/messages", {"urls": ["http://b.example/"]})
    _, token = await bench.stores.keys.create("schemathesis", ("admin",))
    async with serving(soon_left(bench.app)) as port:
        print(port, token, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(keys="keys" in sys.argv))
