"""A lookup process: ``python -m scoter.web.service.lookups FD PORT``, one of several on the public port.

PORT is the socket on which it listens, which stays open when it ends.

It reads the database beside the core that writes it, and goes on answering lookups while there is no core.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from scoter.live.sqlite.database import Reader
from scoter.live.sqlite.keys import KeyReader
from scoter.live.sqlite.metadata import open_readonly
from scoter.web.keys import Gate
from scoter.web.lookup import LookupApp
from scoter.web.lookups import Lookup
from scoter.web.passing import PassOn
from scoter.web.protocol import Limits
from scoter.web.service.intake import Pending
from scoter.web.service.joining import Joint, be_process
from scoter.web.service.plan import Plan
from scoter.web.service.tallying import tell
from scoter.web.serving import Serving, serve_all
from scoter.web.tallies import Counts


async def work(plan: Plan, joint: Joint) -> int:
    """Answer lookups until told to stop."""
    folder, web = plan.folder, plan.config.web
    reader = Reader(folder.database)
    keys = KeyReader(reader)
    gate = Gate(
        keys,
        required=plan.needs_keys,
        any_host=plan.any_host,
    )
    with open_readonly(folder.database, mapped=plan.config.live.lookup_mapped) as records:
        counts = Counts(gate, keys.take_uses)
        pass_on = PassOn(
            folder.socket, most=web.passed_on, note=lambda: counts.answered("passed on", 503, counts.clock())
        )
        app = LookupApp(
            Lookup(records, Pending(reader)),
            gate,
            pass_on,
            counts=counts,
            body_limit=web.body_size,
            body_within=web.body_time.total_seconds(),
        )
        listening = socket.socket(fileno=int(sys.argv[2]))
        kept_alive = round(web.kept_alive.total_seconds())
        serving = Serving(app, [listening], limits=Limits.of(web), kept_alive=kept_alive, note=counts.refused)
        telling = asyncio.create_task(tell(folder.tallies, counts, gate))
        joint.say_ready()
        await serve_all([serving], joint.stopping)
        telling.cancel()
        pass_on.close()
    reader.close()
    return 0


if __name__ == "__main__":
    be_process("lookup process", work)
