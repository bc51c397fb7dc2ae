"""The static part as files, and as nginx serves them where it is installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.simweb.walker import Client

from scoter.errors import UsageError
from scoter.simweb import SimWeb, WebSpec, export, truth

_SPEC = WebSpec(hosts=20, pages=120, faults=True)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    # Not pytest's own folder: nginx's workers run as another user when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="simweb-"))
    folder.chmod(0o755)
    yield folder / "out"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def web() -> SimWeb:
    return SimWeb(_SPEC)


@pytest.fixture(scope="module")
def port(web: SimWeb, place: Path) -> int:
    port = _free_port()
    done = export(web, place, port)
    assert done.files > 300
    assert done.redirects > 20
    assert {"busy", "reset", "drip", "bomb"} <= set(done.left_out)
    assert "page" not in done.left_out
    assert done.bytes == sum(path.stat().st_size for path in (place / "sites").rglob("*") if path.is_file())
    return port


def test_files_hold_what_is_served(web: SimWeb, place: Path, port: int) -> None:
    for found in truth(web):
        if found.answer in ("page", "image", "feed", "document", "text", "sitemap", "refresh_now", "empty"):
            path = unquote("/" + found.url.split("/", 3)[3].partition("?")[0])
            file = place / "sites" / found.host / (path + "index.html" if path.endswith("/") else path)[1:]
            assert file.read_bytes() == web.answer(found.host, "/" + found.url.split("/", 3)[3]).body


def test_an_export_goes_only_into_an_empty_directory(web: SimWeb, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(UsageError, match="is not empty"):
        export(web, tmp_path)
    with pytest.raises(UsageError, match="port=0"):
        export(web, tmp_path / "new", port=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        export(web, tmp_path / "file" / "below")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_serves_what_the_synthetic_web_serves(web: SimWeb, place: Path, port: int) -> None:
    # Given nginx on the exported files
    command = ["nginx", "-p", str(place), "-c", "nginx.conf"]
    subprocess.run(command, check=True, capture_output=True, timeout=20)
    client = Client(port)
    try:
        for found in truth(web):
            if found.answer == "refused":
                continue
            path = "/" + found.url.split("/", 3)[3]
            told = web.answer(found.host, path)
            if told.wire not in ("length", "chunked", "until_close") or told.status in (429, 500, 503):
                continue
            if found.answer in ("bomb", "robots", "recovering") and told.status != 301:
                continue

            # When a URL is asked for, then status, body, type and target are those of the web
            got = client.ask(found.url)
            assert got.status == told.status, found.url
            headers = {name.lower(): value for name, value in told.headers}
            if told.status == 200:
                assert got.body == told.body, found.url
                assert got.headers.get("content-type", "") == headers.get("content-type", ""), found.url
            assert got.headers.get("location") == headers.get("location"), found.url
            if "last-modified" in headers and told.status == 200:
                assert got.headers["last-modified"] == headers["last-modified"]
    finally:
        client.close()
        subprocess.run([*command, "-s", "stop"], check=True, capture_output=True, timeout=20)
