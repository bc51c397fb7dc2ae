"""Measure the live service on this machine; exit with 1 if a target is missed.

    python -m benchmarks.live [messages] [lookups] [memory] [--seconds 120] [--records 1000000] [--urls 200000]

Everything runs on loopback: nginx serves the web under any host name, and separate processes generate the load. They
share the machine's cores with the service.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.live import lookups, memory, messages
from benchmarks.live.site import write
from benchmarks.live.target import show
from benchmarks.nginx import free_port, serving

PAGE_BYTES = 25_000


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", help="messages, lookups, memory (default: all)")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("BENCH_SECONDS", "120")))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--urls", type=int, default=200_000)
    asked = parser.parse_args()
    parts = asked.parts or ["messages", "lookups", "memory"]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)  # nginx's workers may run as another user
        write(root, PAGE_BYTES)
        with serving(root, free_port()) as web:
            if "messages" in parts:
                missed += show(messages.measure(root / "messages", web, asked.seconds))
            if "lookups" in parts:
                missed += show(lookups.measure(root / "lookups", web, asked.records, asked.seconds))
            if "memory" in parts:
                missed += show(memory.measure(root / "memory", web, asked.urls))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
