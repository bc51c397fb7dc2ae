"""A lookup process: ``python -m scoter.web.service.lookups FD PORT``, one of several on the public port.

PORT is the socket on which it listens, which stays open when it ends.

It reads the database beside the core that writes it, and goes on answering lookups while there is no core.
"""

from __future__ import annotations

import socket
import sys

from scoter.live.sqlite.database import Reader
from scoter.live.sqlite.keys import KeyReader
from scoter.live.sqlite.metadata import open_readonly
from scoter.web.keys import Gate
from scoter.web.lookup import LookupApp
from scoter.web.lookups import Lookup
from scoter.web.passing import PassOn
from scoter.web.service.intake import Pending
from scoter.web.service.joining import Joint, be_process
from scoter.web.service.plan import Plan
from scoter.web.serving import Serving, serve_all


async def work(plan: Plan, joint: Joint) -> int:
    """Answer lookups until told to stop."""
    folder = plan.folder
    reader = Reader(folder.database)
    gate = Gate(
        KeyReader(reader),
        required=plan.needs_keys,
        any_host=plan.any_host,
        share=1 / plan.config.live.lookups,
    )
    with open_readonly(folder.database, mapped=plan.config.live.lookup_mapped) as records:
        pass_on = PassOn(folder.socket)
        app = LookupApp(Lookup(records, Pending(reader)), gate, pass_on)
        serving = Serving(app, [socket.socket(fileno=int(sys.argv[2]))])
        joint.say_ready()
        await serve_all([serving], joint.stopping)
        pass_on.close()
    reader.close()
    return 0


if __name__ == "__main__":
    be_process("lookup process", work)
