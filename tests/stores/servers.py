"""Two independent S3 servers: moto, and versitygw with a folder behind it."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

BUCKET = "crawls"
KEY, SECRET = "scoter-test-key", "scoter-test-secret"
SERVERS = ("moto", "versitygw")
_BUILT = Path(__file__).parents[2] / "build" / "versitygw" / "versitygw"


@cache
def server_port(kind: str) -> int:
    """Start a server once for all tests of this process, and return its port."""
    return _moto() if kind == "moto" else _versitygw()


def environment(endpoint: str) -> dict[str, str]:
    """Return the variables by which a process reaches a server."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _moto() -> int:
    pytest.importorskip("moto", reason="moto is not installed")
    import logging

    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    atexit.register(server.stop)
    _, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    client.close()
    return int(port)


def _versitygw() -> int:
    found = str(_BUILT) if _BUILT.exists() else shutil.which("versitygw")
    if found is None:
        pytest.skip("versitygw is not installed; run: make test-stores")
    folder = Path(tempfile.mkdtemp(prefix="versitygw-", dir=_with_attributes()))
    (folder / BUCKET).mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    process = subprocess.Popen(
        [found, "--port", f"127.0.0.1:{port}", "posix", str(folder)],
        env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def stop() -> None:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    patience = time.monotonic() + 20
    while time.monotonic() < patience:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return port
    raise TimeoutError("versitygw does not start")


def _with_attributes() -> str:
    """Return a folder on a disk with extended attributes, in which versitygw stores the versions of objects."""
    for folder in (tempfile.gettempdir(), "/var/tmp", str(Path.cwd())):
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            try:
                os.setxattr(file.name, "user.scoter", b"1")
            except OSError:
                continue
            return folder
    pytest.skip("no disk with extended attributes")
