"""What each format writes."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow.dataset as ds
import pytest
import zstandard
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.export.crawls import EXPORTED, GONE, A, B, C, add_segment, crawl_with_archive, exported, lines
from tests.store.exchanges import assert_sound

from scoter.batch.crawldir.directory import CrawlDir
from scoter.export.fields import FIELDS
from scoter.export.registry import FormatChoices
from scoter.export.selection import PageFilter
from scoter.store.warc import WarcReader


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    return crawl_with_archive(tmp_path_factory.mktemp("crawl") / "crawl")


def test_manifest_has_counts_options_and_digests(crawl: CrawlDir, tmp_path: Path) -> None:
    exported(crawl, tmp_path / "out", "jsonl", shard_size=2, fields=("url",))

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["pages"] == 3
    assert manifest["options"]["fields"] == ["url"]
    assert [(file["name"], file["pages"]) for file in manifest["files"]] == [
        ("pages-00000.jsonl", 2),
        ("pages-00001.jsonl", 1),
    ]
    for file in manifest["files"]:
        content = (tmp_path / "out" / file["name"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["size"], file["sha256"])
    assert manifest["bytes"] == sum(file["size"] for file in manifest["files"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        "pages-00000.jsonl",
        "pages-00001.jsonl",
    ]


def test_jsonl_has_the_chosen_fields_in_order(crawl: CrawlDir, tmp_path: Path) -> None:
    exported(crawl, tmp_path / "out", "jsonl", fields=("title", "authors", "fetched", "url", "inlinks"))

    assert list(lines(tmp_path / "out")[1].items()) == [
        ("title", f"Title of {B}"),
        ("authors", ["An Author"]),
        ("fetched", "2026-11-15T05:00:00Z"),
        ("url", B),
        ("inlinks", None),
    ]


def test_key_ranges_change_nothing(crawl: CrawlDir, tmp_path: Path) -> None:
    fields = tuple(FIELDS)
    exported(crawl, tmp_path / "whole", "jsonl", fields=fields)
    exported(crawl, tmp_path / "ranges", "jsonl", fields=fields, ranges=3)

    assert lines(tmp_path / "ranges") == lines(tmp_path / "whole")
    assert set(lines(tmp_path / "whole")[0]) == set(fields)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed_files_hold_the_same_lines(crawl: CrawlDir, tmp_path: Path, compression: str) -> None:
    exported(crawl, tmp_path / "plain", "jsonl")
    exported(crawl, tmp_path / "out", "jsonl", choices=FormatChoices(compression=compression))  # type: ignore[arg-type]

    (file,) = (tmp_path / "out").glob("pages-*")
    read = gzip.decompress if compression == "gzip" else zstandard.ZstdDecompressor().decompressobj().decompress
    assert read(file.read_bytes()) == (tmp_path / "plain" / "pages-00000.jsonl").read_bytes()


def test_csv_follows_rfc_4180(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(A)])
    awkward = 'Says "no",\r\nthen\0 leaves'
    add_segment(crawl, "20261115000001", {A: awkward})

    exported(crawl, tmp_path / "out", "csv", fields=("url", "content", "authors", "score"))

    raw = (tmp_path / "out" / "pages-00000.csv").read_bytes()
    assert raw == (
        b'url,content,authors,score\r\nhttp://a.org/,"Says ""no"",\r\nthen leaves","[""An Author""]",1.0\r\n'
    )
    assert list(csv.reader(io.StringIO(raw.decode(), newline="")))[1][1] == awkward.replace("\0", "")


def test_parquet_shards_are_one_dataset(crawl: CrawlDir, tmp_path: Path) -> None:
    exported(crawl, tmp_path / "out", "parquet", shard_size=1)

    rows = ds.dataset(sorted(map(str, (tmp_path / "out").glob("*.parquet")))).to_table().to_pylist()
    assert [row["url"] for row in rows] == EXPORTED
    assert rows[0]["authors"] == ["An Author"]
    query = f"SELECT title FROM '{tmp_path / 'out' / '*.parquet'}' WHERE url = '{B}'"
    assert duckdb.sql(query).fetchall() == [(f"Title of {B}",)]


def test_markdown_has_a_file_per_page_with_front_matter(crawl: CrawlDir, tmp_path: Path) -> None:
    manifest = exported(crawl, tmp_path / "out", "markdown", shard_size=2)

    assert [file.name for file in manifest.files] == ["index-00000.jsonl", "index-00001.jsonl"]
    index = [
        json.loads(line) for file in manifest.files for line in (tmp_path / "out" / file.name).read_text().splitlines()
    ]
    assert [line["url"] for line in index] == EXPORTED
    text = (tmp_path / "out" / index[1]["file"]).read_text()
    assert index[1]["file"].startswith("b.org/index-")
    assert text == (
        f'---\ntitle: "Title of {B}"\nurl: "{B}"\nauthors: ["An Author"]\nlanguage: "en"\n'
        f"fetched: 2026-11-15T05:00:00Z\n---\n\n# Text of {B}\n"
    )
    assert index[1]["sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_sqlite_has_a_table_and_a_full_text_index(crawl: CrawlDir, tmp_path: Path) -> None:
    manifest = exported(crawl, tmp_path / "out", "sqlite", shard_size=1, choices=FormatChoices(fts=True))

    assert [(file.name, file.pages) for file in manifest.files] == [("pages.sqlite", 3)]
    with closing(sqlite3.connect(tmp_path / "out" / "pages.sqlite")) as database:
        assert database.execute("SELECT url, json_extract(authors, '$[0]') FROM pages ORDER BY rowid").fetchall() == [
            (url, "An Author") for url in EXPORTED
        ]
        query = "SELECT url FROM pages WHERE rowid IN (SELECT rowid FROM pages_fts WHERE pages_fts MATCH 'new')"
        assert database.execute(query).fetchall() == [(A,)]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_warc_holds_whole_records_without_recompressing_them(crawl: CrawlDir, tmp_path: Path) -> None:
    manifest = exported(crawl, tmp_path / "out", "warc")

    assert [file.name for file in manifest.files] == ["pages-00000.warc.gz", "pages-00000.cdxj"]
    archive = tmp_path / "out" / "pages-00000.warc.gz"
    assert_sound(archive)
    with WarcReader(archive) as reader:
        found = {each.url: each for each in reader}
        assert found.keys() == set(EXPORTED)
        assert b"New text of A" in found[A].body
        for line in (tmp_path / "out" / "pages-00000.cdxj").read_text().splitlines():
            entry = json.loads(line.split(" ", 2)[2])
            assert reader.at(int(entry["offset"])).url == entry["url"]
    raw = archive.read_bytes()
    for part in crawl.segments.glob("*/content/*.warc.gz"):
        with WarcReader(part) as reader:
            places = [each.offset for each in reader]
            ends = [*places[1:], part.stat().st_size]
            spans = {
                each.url: part.read_bytes()[start:end] for each, start, end in zip(reader, places, ends, strict=True)
            }
        kept = {A} if "002" in str(part) else {B, C}
        assert {url for url, span in spans.items() if span in raw} == kept


def test_wacz_has_index_pages_and_description_with_correct_digests(crawl: CrawlDir, tmp_path: Path) -> None:
    exported(crawl, tmp_path / "out", "wacz", shard_size=2)

    with zipfile.ZipFile(tmp_path / "out" / "pages-00000.wacz") as package:
        assert {entry.compress_type for entry in package.infolist()} == {zipfile.ZIP_STORED}
        about = json.loads(package.read("datapackage.json"))
        assert about["wacz_version"] == "1.1.1"
        assert {each["path"] for each in about["resources"]} == {
            "archive/pages-00000.warc.gz",
            "indexes/index.cdx.gz",
            "indexes/index.idx",
            "pages/pages.jsonl",
        }
        for each in about["resources"]:
            content = package.read(each["path"])
            assert (len(content), "sha256:" + hashlib.sha256(content).hexdigest()) == (each["bytes"], each["hash"])
        digest = json.loads(package.read("datapackage-digest.json"))
        assert digest["hash"] == "sha256:" + hashlib.sha256(package.read("datapackage.json")).hexdigest()
        _, *pages = map(json.loads, package.read("pages/pages.jsonl").splitlines())
        assert [(page["url"], page["title"]) for page in pages] == [(B, f"Title of {B}"), (C, f"Title of {C}")]
        _, block = package.read("indexes/index.idx").splitlines()
        key, _, place = block.split(b" ", 2)
        where = json.loads(place)
        packed = package.read("indexes/index.cdx.gz")[where["offset"] :][: where["length"]]
        assert gzip.decompress(packed).splitlines()[0].startswith(key)


def test_redirects_can_be_added_to_an_archive(tmp_path: Path) -> None:
    crawl = crawl_with_archive(tmp_path / "crawl")
    write_crawldb(crawl, [datum(A), datum(GONE, "redir_perm")])
    segment = add_segment(crawl, "20261115000003", {GONE: "moved"})
    (file,) = segment.crawl_fetch().files
    duckdb.sql(f"COPY (SELECT * REPLACE ('redir_perm' AS status) FROM '{file}') TO '{tmp_path / 'new.parquet'}'")
    (tmp_path / "new.parquet").replace(file)

    assert exported(crawl, tmp_path / "without", "warc").pages == 1
    assert exported(crawl, tmp_path / "with", "warc", filter=PageFilter(redirects=True)).pages == 2


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ("host", "b.org/index-65e4c18d93f7.html"),
        ("hash", "c9/de/c8da1d6197c5b2ecdc2e6814e66b8432_.html"),
        ("flat", "c8da1d6197c5b2ecdc2e6814e66b8432_.html"),
        ("reverse", "org/b/65E4C18D93F705268CEAA6287F0475F1669D0CFE7606DC064662CB1A6B78EF91"),
    ],
)
def test_files_are_named_as_the_layout_says(crawl: CrawlDir, tmp_path: Path, layout: str, name: str) -> None:
    manifest = exported(crawl, tmp_path / "out", "files", choices=FormatChoices(layout=layout))  # type: ignore[arg-type]

    index = map(json.loads, (tmp_path / "out" / manifest.files[0].name).read_text().splitlines())
    found = {line["url"]: line["file"] for line in index}
    assert found[B] == name
    assert (tmp_path / "out" / name).read_bytes() == f"<title>Title of {B}</title><p>Text of {B}</p>".encode()


@pytest.mark.parametrize("encoding", ["json", "cbor"])
def test_commoncrawl_records_have_the_keys_of_nutch(crawl: CrawlDir, tmp_path: Path, encoding: str) -> None:
    choices = FormatChoices(encoding=encoding, key="reverse", compression="gzip")  # type: ignore[arg-type]
    exported(crawl, tmp_path / "out", "commoncrawl", choices=choices)

    (file,) = (tmp_path / "out").glob("pages-*")
    raw = gzip.decompress(file.read_bytes())
    if encoding == "cbor":
        assert raw[:5] == b"\xd9\xd9\xf7\x79" + raw[4:5]  # a text of up to 65,535 bytes
        raw = raw[6 : 6 + int.from_bytes(raw[4:6], "big")]
    record = json.loads(raw.splitlines()[0])
    assert list(record) == ["url", "timestamp", "request", "response", "key", "imported"]
    assert record["response"]["status"] == "200"
    assert record["response"]["server"] == {"hostname": "b.org", "address": "192.0.2.7"}
    assert record["response"]["body"] == f"<title>Title of {B}</title><p>Text of {B}</p>"
    assert record["key"] == f"org_b_{hashlib.sha1(B.encode()).hexdigest()}_1794718800000"
