"""A real `scoter ui` process over a synthetic web."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def serving_crawls(folder: Path, web_port: int, *options: str) -> Iterator[str]:
    """Run `scoter ui` on a folder, whose jobs see only the synthetic web; yield its address."""
    settings = ["agent.name=testbot", "fetch.delay=0", f'fetch.connect_to=["*:*=127.0.0.1:{web_port}"]']
    command = [sys.executable, "-m", "scoter.cli.main", "ui", str(folder), "--port", "0", "--json", *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    with subprocess.Popen(
        [*command, *(f"-D{each}" for each in settings)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder.parent,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            line: dict[str, Any] = json.loads(process.stdout.readline())
            yield line["url"].rstrip("/")
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
