"""Kill and stop processes of a live service under load; every accepted URL must still get exactly one event.

    python -m tests.long.kill_live [--kills 30] [--seed N]

Messages with three URLs each arrive continuously, some with force, while core, lookup and fetching processes are
killed (SIGKILL) or stopped for a while (SIGSTOP, SIGCONT) at seeded random moments. When the service is idle again, the
script checks its database and the request log of the web: each URL of each accepted message has one event, no fetch has
two results, and no domain got a request before its delay was over or two requests at once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from random import Random

from tests.live.fetching.webs import impolite
from tests.live.service.running import CORE, FETCHER, LOOKUPS, Service, pages, service
from tests.long.message_load import AnnouncedUrl, MessageLoad, event_problems

from scoter.live.sqlite.database import DatabaseReader
from scoter.simweb import WebSpec, running

WEB = WebSpec(hosts=300, pages=3_000, page_bytes=2_000, latency=0.05)
DELAY = 0.1
SETTINGS = ("live.processes=2", "live.lookups=2", f"fetch.delay={DELAY}s", "live.lease=5s")
IDLE_WITHIN = 120.0


def disturb(live: Service, chance: Random) -> str:
    """Kill or stop one process and return what was done; empty if there is none."""
    module = chance.choice([CORE, LOOKUPS, FETCHER, FETCHER])
    sign = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
    found = live.pids(module)
    if not found:
        return ""
    pid = chance.choice(found)
    with suppress(ProcessLookupError):
        os.kill(pid, sign)
        if sign == signal.SIGSTOP:
            time.sleep(chance.uniform(0.5, 4.5))
            os.kill(pid, signal.SIGCONT)
    return f"{module.rpartition('.')[2]} {sign.name}"


def wait_until_idle(live: Service) -> bool:
    """Wait until the journal is empty."""
    until = time.monotonic() + IDLE_WITHIN
    while time.monotonic() < until:
        with suppress(OSError, HTTPException, KeyError, ValueError):
            gauges = live.get("/v1/stats").json["gauges"]
            if not sum(count for name, count in gauges.items() if name.startswith("journal_entries")):
                return True
        time.sleep(0.2)
    return False


def check_events(live: Service, accepted: dict[str, set[str]]) -> list[str]:
    """Return what is wrong in the database."""
    reader = DatabaseReader(live.folder / "service.sqlite")
    try:
        rows = list(reader.all("SELECT message, url, record FROM events"))
    finally:
        reader.close()
    found = ((message, url, json.loads(text)) for message, url, text in rows)
    return event_problems(
        (
            AnnouncedUrl(message, url, record["fetch"], record["resolved"], record["state"], record.get("status"))
            for message, url, record in found
        ),
        accepted,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None)
    asked = parser.parse_args()
    seed = Random().randrange(10**6) if asked.seed is None else asked.seed
    chance = Random(seed)
    print(f"seed {seed}")
    disturbances: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        running(WEB) as web,
        service(Path(folder) / "live", web.port, *SETTINGS) as live,
    ):
        load = MessageLoad([live], pages(WEB, 3_000), seed + 1)
        try:
            while disturbances.total() < asked.kills:
                time.sleep(chance.uniform(0.5, 3.0))
                if done := disturb(live, chance):
                    disturbances[done] += 1
        finally:
            load.stop()
        print(f"{disturbances.total()} disturbances: {dict(disturbances)}; {len(load.accepted):,} messages accepted")
        problems = [] if wait_until_idle(live) else [f"not idle after {IDLE_WITHIN:.0f} s"]
        problems += check_events(live, load.accepted)
        problems += impolite(web.ledger.requests(), DELAY)
    for problem in problems[:20]:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems or not load.accepted else 0


if __name__ == "__main__":
    sys.exit(main())
