"""A lookup process: ``python -m scoter.web.service.lookup_process FD PORT``, one of several on the public port.

PORT is the socket on which it listens, which stays open when it ends.

It reads the database beside the core that writes it, and goes on answering lookups while there is no core.
"""

from __future__ import annotations

import asyncio
import socket
import sys

from scoter.live.sqlite.access import SqliteKeyReader
from scoter.live.sqlite.database import DatabaseReader
from scoter.live.sqlite.metadata import open_readonly
from scoter.web.keys import AccessControl
from scoter.web.lookup_app import LookupApp
from scoter.web.lookups import Lookup
from scoter.web.metrics import LookupMetrics
from scoter.web.protocol import ServerLimits
from scoter.web.proxy import CoreProxy
from scoter.web.server import HttpServer
from scoter.web.service.admission import PendingUrls
from scoter.web.service.metrics_channel import send_metrics
from scoter.web.service.plan import ServicePlan
from scoter.web.service.process import SupervisorLink, run_process


async def work(plan: ServicePlan, joint: SupervisorLink) -> int:
    """Answer lookups until told to stop."""
    folder, web = plan.folder, plan.config.web
    reader = DatabaseReader(folder.database)
    keys = SqliteKeyReader(reader)
    gate = AccessControl(
        keys,
        required=plan.needs_keys,
        any_host=plan.any_host,
    )
    with open_readonly(folder.database, mapped=plan.config.live.lookup_mapped) as records:
        counts = LookupMetrics(gate, keys.take_uses)
        pass_on = CoreProxy(
            folder.socket, most=web.passed_on, note=lambda: counts.answered("passed on", 503, counts.clock())
        )
        app = LookupApp(
            Lookup(records, PendingUrls(reader)),
            gate,
            pass_on,
            counts=counts,
            body_limit=web.body_size,
            body_within=web.body_time.total_seconds(),
        )
        listening = socket.socket(fileno=int(sys.argv[2]))
        keep_alive = round(web.kept_alive.total_seconds())
        server = HttpServer(app, [listening], limits=ServerLimits.of(web), keep_alive=keep_alive, note=counts.refused)
        telling = asyncio.create_task(send_metrics(folder.tallies, counts, gate))
        joint.say_ready()
        await server.run_until(joint.stopping)
        telling.cancel()
        pass_on.close()
    reader.close()
    return 0


if __name__ == "__main__":
    run_process("lookup process", work)
