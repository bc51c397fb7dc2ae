from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run


def test_simweb_serves_until_interrupted() -> None:
    command = [
        sys.executable,
        "-m",
        "scoter.cli.main",
        "simweb",
        "--port",
        "0",
        "--json",
        "--hosts",
        "3",
        "--pages",
        "9",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        started = json.loads(server.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", started["port"], timeout=10)
        connection.request("GET", "/spec", headers={"Host": started["control"]})
        spec = json.loads(connection.getresponse().read())
        connection.close()
        server.send_signal(signal.SIGINT)
        code = server.wait(10)

    assert (spec["hosts"], spec["pages"]) == (3, 9)
    assert started["seed"].startswith("http://")
    assert code == 0


def test_static_pages_can_be_written_for_nginx(run: Run, tmp_path: Path) -> None:
    done = run("simweb", "--hosts", "3", "--pages", "9", "--write", "web", "--port", "8099")

    assert done.code == 0
    assert "nginx -p web -c nginx.conf" in done.err
    assert "8099" in (tmp_path / "web" / "nginx.conf").read_text()
    again = run("simweb", "--hosts", "3", "--pages", "9", "--write", "web")
    assert again.code == 2
    assert "is not empty" in again.err
