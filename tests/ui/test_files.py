"""The files of the web interface: how they are served, and what they must not contain."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.batch.api.crawls import HOST, BatchBench
from tests.live.api.client import Client

from scoter.ui.files import Pages, page_files

FILES = page_files("batch")


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(Pages(BatchBench(tmp_path).app, "batch"), None, (HOST,))


async def test_files_have_a_strict_policy_and_are_revalidated(client: Client) -> None:
    for path in FILES:
        got = await client.get(path)
        again = await client.get(path, ("If-None-Match", got.headers["etag"]))

        policy = got.headers["content-security-policy"]
        assert (got.status, again.status, again.body) == (200, 304, b"")
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert got.headers["x-content-type-options"] == "nosniff"


async def test_the_api_is_served_beside_the_files(client: Client) -> None:
    assert (await client.get("/v1/crawls")).json == {"crawls": [], "next": None}
    assert (await client.get("/ui/nothing.js")).status == 404
    assert (await client.get("/ui/../app.py")).status == 404
    assert (await client.ask("POST", "/")).status == 405
    assert (await client.ask("HEAD", "/")).status == 200


def test_everything_together_is_small() -> None:
    assert sum(len(each.body) for each in FILES.values()) < 400_000


def test_every_imported_and_linked_file_exists() -> None:
    for path, file in FILES.items():
        text = file.body.decode()
        for name in re.findall(r'(?:from|import) "(\./|\.\./)([\w./]+)"', text):
            folder = path.rpartition("/")[0] if name[0] == "./" else path.rpartition("/")[0].rpartition("/")[0]
            assert f"{folder}/{name[1]}" in FILES, f"{path} imports {name}"
        for name in re.findall(r'(?:src|href)="(/ui/[^"]+)"', text):
            assert name in FILES


def test_nothing_is_inline_or_comes_from_elsewhere_or_turns_text_into_markup() -> None:
    page = FILES["/"].body.decode()
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|style=", page) == []
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc"
    )
    for path, file in FILES.items():
        text = file.body.decode()
        assert not forbidden.search(text), path
        assert not re.search(r'(?:src|href|from|import|url)\s*[=(]?\s*["\'(]https?://', text), path
