"""Crawls written with the classes of several releases of Nutch (`make nutch-fixtures`)."""

from __future__ import annotations

import tarfile
from pathlib import Path

import msgspec
import pytest
from tests.long.nutch_import import RELEASES, Comparison
from tests.nutch.crawl.test_import import imported
from tests.nutch.crawl.writer import map_writable, text

from scoter.nutch.crawl.codecs import Damage
from scoter.nutch.crawl.records import NutchLink, read_inlinks

ARCHIVES = sorted(RELEASES.glob("nutch-*.tar.xz"))


def test_there_is_a_crawl_of_each_release() -> None:
    assert [file.name for file in ARCHIVES] == [f"nutch-1.{minor}.tar.xz" for minor in range(15, 23)]


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda file: file.name.removesuffix(".tar.xz"))
def test_every_field_of_a_release_is_imported(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as files:
        files.extractall(tmp_path / "nutch", filter="data")

    report = msgspec.json.encode(imported(tmp_path / "nutch", tmp_path / "crawl"))

    assert Comparison(tmp_path / "nutch", tmp_path / "crawl").run(msgspec.json.decode(report)) > 100


def test_inlinks_are_read_with_and_without_metadata() -> None:
    links = [("http://a.example/", "seals"), ("http://b.example/", ""), ("http://c.example/", "ice")]
    about = map_writable({"rel": (-116, text("nofollow"))})
    plain = b"".join(text(url) + text(anchor) for url, anchor in links)
    flagged = b"".join(text(url) + text(anchor) + (b"\1" + about if anchor else b"\0") for url, anchor in links)

    for data in (plain, flagged):
        assert read_inlinks((3).to_bytes(4) + data) == [NutchLink(*link) for link in links]
    with pytest.raises(Damage):
        read_inlinks((3).to_bytes(4) + flagged[:-1])
