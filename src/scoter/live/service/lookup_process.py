"""A lookup process: ``python -m scoter.live.service.lookup_process FD PORT``, one of several on the public port.

FD is the socket to the supervisor, PORT the one to listen on; the latter stays open when the process ends. The process
reads the database directly and keeps answering lookups while there is no core.
"""

from __future__ import annotations

import socket
import sys
from functools import partial

from scoter.heap import collect_less, keep_memory
from scoter.http.access import AccessControl
from scoter.http.asgi import App, Cors
from scoter.http.proxy import CoreProxy
from scoter.http.server import HttpServer
from scoter.live.api.lookup_app import LookupApp
from scoter.live.api.lookups import Lookup
from scoter.live.api.metrics import LookupMetrics
from scoter.live.background import VitalTasks
from scoter.live.intake.checks import is_pending
from scoter.live.service.metrics_channel import send_metrics
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, run_process
from scoter.live.sqlite.access import SqliteKeyReader
from scoter.live.sqlite.database import DatabaseReader
from scoter.live.sqlite.health import DatabaseHealth
from scoter.live.sqlite.metadata import open_readonly
from scoter.ui.files import Pages


async def work(plan: ServicePlan, link: SupervisorLink) -> int:
    """Answer lookups until told to stop."""
    keep_memory()
    folder, web = plan.folder, plan.config.web
    health = DatabaseHealth(folder.database)
    reader = DatabaseReader(folder.database, health=health)
    keys = SqliteKeyReader(reader)
    access = AccessControl(keys, required=plan.needs_keys, any_host=plan.any_host, origins=web.cors_origins)
    with open_readonly(folder.database, mapped=plan.config.live.lookup_mapped, health=health) as records:
        metrics = LookupMetrics(access, keys.take_uses, health)
        proxy = CoreProxy(
            folder.socket, most=web.passed_on, note=lambda: metrics.answered("passed on", 503, metrics.clock())
        )
        app = LookupApp(Lookup(records, partial(is_pending, reader)), access, proxy, metrics=metrics, web=web)
        allowed: App = Cors(app, web.cors_origins) if web.cors_origins else app
        at_once = None if web.cors_origins else app.answer_at_once  # it adds none of the headers of CORS
        served = Pages(allowed, "live")
        public = socket.socket(fileno=int(sys.argv[2]))
        keep_alive = round(web.kept_alive.total_seconds())
        server = HttpServer(served, [public], limits=web, keep_alive=keep_alive, note=metrics.refused, at_once=at_once)
        vital = VitalTasks()
        vital.spawn(send_metrics(folder.metrics_socket, metrics, access))
        collect_less()
        link.report_ready()
        await server.run_until(link.stopping)
        await vital.close()
        proxy.close()
    reader.close()
    return 0


if __name__ == "__main__":
    run_process("lookup process", work)
