"""Every feature occurs in the default web, and every fault in the faulty one; and the manual lists them all."""

from __future__ import annotations

import ast
import gzip
import subprocess
import sys
import tracemalloc
import zlib
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.simweb.walker import Client, read

from scoter import simweb
from scoter.errors import UsageError
from scoter.simweb import FAULTS, AnswerClass, Fact, SimServer, SimWeb, WebSpec, fault_name, truth
from scoter.simweb.sites import PROFILES

_MANUAL = Path(__file__).parents[2] / "docs" / "simweb.md"
_PLAIN = [
    "behind-meta-nofollow",
    "base-href",
    "calendar",
    "canonical",
    "canonical-cross-host",
    "deep-nesting",
    "deep-path",
    "directory",
    "duplicate",
    "favicon",
    "feed-atom",
    "feed-rss",
    "icon-and-image",
    "image",
    "meta-nofollow",
    "meta-nofollow-page",
    "meta-noindex",
    "meta-noindex-nofollow",
    "meta-noindex-page",
    "near-duplicate",
    "nofollow-only",
    "non-ascii-path",
    "not-found",
    "pdf",
    "redirect-301",
    "redirect-302",
    "redirect-303",
    "redirect-307",
    "redirect-308",
    "redirect-chain",
    "redirect-cross-host",
    "redirect-relative",
    "redirect-schemeless",
    "redirect-target",
    "refresh-later",
    "refresh-now",
    "refresh-soon",
    "refresh-target",
    "removed",
    "robots-allow-longer",
    "robots-bom",
    "robots-closed",
    "robots-delay",
    "robots-disallow",
    "robots-end-anchor",
    "robots-end-anchor-missed",
    "robots-folder",
    "robots-forbidden",
    "robots-moved-away",
    "robots-moved-here",
    "robots-open",
    "robots-rules",
    "session-id",
    "shop",
    "sitemap",
    "sitemap-gzipped",
    "sitemap-index",
    "spelled-target",
    "spellings",
    "text",
    "x-robots-tag",
]


@pytest.fixture(scope="module")
def shown(plain: SimServer) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for one in truth(plain.web):
        found.setdefault(one.shows, []).append(one)
    return found


def _first(shown: dict[str, list[Fact]], name: str) -> Fact:
    return shown[name][0]


def test_every_plain_feature_occurs_in_the_default_web(shown: dict[str, list[Fact]]) -> None:
    assert set(shown) - {""} == set(_PLAIN)


@pytest.mark.parametrize("seed", [2, 3, 17])
def test_every_plain_feature_occurs_whatever_the_seed(seed: int) -> None:
    assert {found.shows for found in truth(SimWeb(WebSpec(seed=seed)))} - {""} == set(_PLAIN)


def test_the_faulty_web_has_a_host_for_every_fault() -> None:
    web = SimWeb(WebSpec(faults=True))
    assert {fault_name(fault) for fault in FAULTS} < set(web.hosts())
    assert {found.answer for found in truth(web)} == set(AnswerClass)


def test_the_manual_names_every_feature_fault_and_answer_class() -> None:
    text = _MANUAL.read_text(encoding="utf-8")
    names = {*_PLAIN, *FAULTS, *AnswerClass}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_seven_languages_and_all_encodings_occur(plain: SimServer) -> None:
    facts = [found for found in truth(plain.web) if found.answer == "page"]
    assert {found.language for found in facts} == {"en", "de", "fr", "ru", "zh", "ja", "ko"}
    encodings = {found.encoding for found in facts}
    assert encodings == {"utf-8", "gbk", "shift_jis", "euc-kr", "windows-1251", "windows-1252", "utf-16"}


def test_charsets_are_also_wrong_in_the_meta_tag_only_or_missing(plain: SimServer, client: Client) -> None:
    def page(index: int) -> tuple[str, bytes]:
        got = client.ask(f"http://{plain.web.hosts()[index]}/")
        return got.headers["content-type"], got.body

    wrong, wrong_body = page(8)
    assert wrong == "text/html; charset=iso-8859-1"
    assert wrong_body.decode("utf-8")
    lying, lying_body = page(9)
    assert lying == "text/html; charset=utf-8"
    with pytest.raises(UnicodeDecodeError):
        lying_body.decode("utf-8")
    meta_only, meta_body = page(17)
    assert meta_only == "text/html"
    assert b'<meta charset="shift_jis">' in meta_body
    missing, missing_body = page(11)
    assert missing == "text/html"
    assert b"charset" not in missing_body
    _, bom_body = page(7)
    assert bom_body.startswith(b"\xff\xfe")


def test_hosts_share_domains_and_some_are_internationalised(plain: SimServer) -> None:
    hosts = plain.web.hosts()
    domains = Counter(".".join(host.split(".")[-2:]) for host in hosts)
    assert len(set(hosts)) == 20
    assert max(domains.values()) == 3
    assert any("xn--" in host for host in hosts)
    assert all(host.endswith(".test") for host in hosts)


def test_the_deep_page_and_the_deep_path_are_deep(shown: dict[str, list[Fact]], client: Client) -> None:
    nested = _first(shown, "deep-nesting")
    assert read(nested.url, client.ask(nested.url), "utf-8").deepest == 2000
    assert _first(shown, "deep-path").url.count("/") > 100


def test_the_calendar_has_as_many_pages_as_asked_for(shown: dict[str, list[Fact]]) -> None:
    assert len(shown["calendar"]) == 40


def test_feeds_and_sitemaps_are_sound_xml_about_the_hosts_own_pages(
    shown: dict[str, list[Fact]], client: Client
) -> None:
    for name in ("feed-rss", "feed-atom", "sitemap", "sitemap-index", "sitemap-gzipped"):
        found = _first(shown, name)
        body = client.ask(found.url).body
        tree = ElementTree.fromstring(gzip.decompress(body) if name == "sitemap-gzipped" else body)
        text = ElementTree.tostring(tree, encoding="unicode")
        assert found.links
        assert all(link.url in text and found.host in link.url for link in found.links)


def test_image_and_icon_are_png_files_with_valid_checksums(shown: dict[str, list[Fact]], client: Client) -> None:
    image = client.ask(_first(shown, "image").url).body
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    place, names = 8, []
    while place < len(image):
        size = int.from_bytes(image[place : place + 4])
        chunk = image[place + 4 : place + 8 + size]
        assert zlib.crc32(chunk) == int.from_bytes(image[place + 8 + size : place + 12 + size])
        names.append(chunk[:4])
        place += 12 + size
    assert names == [b"IHDR", b"tEXt", b"IDAT", b"IEND"]
    icon = client.ask(_first(shown, "favicon").url).body
    assert icon[:4] == b"\0\0\1\0"
    assert icon[22:].startswith(b"\x89PNG")


def test_pdf_cross_reference_table_is_correct(shown: dict[str, list[Fact]], client: Client) -> None:
    pdf = client.ask(_first(shown, "pdf").url).body
    start = int(pdf.split(b"startxref\n")[1].split()[0])
    rows = pdf[start:].split(b"\n")[3:10]
    assert pdf[start:].startswith(b"xref\n0 8\n")
    for number, row in enumerate(rows, start=1):
        assert pdf[int(row.split()[0]) :].startswith(b"%d 0 obj" % number)
    assert b"(Bridges of the river: a report) Tj" in pdf


def test_pages_have_the_size_asked_for_on_average() -> None:
    web = SimWeb(WebSpec(hosts=20, pages=4000, page_bytes=8192))
    for index in (0, 2, 5, 7, 8):
        site = web.sites.site(index)
        sizes = [len(web.answer(site.name, site.path(number)).body) for number in range(1, 150)]
        assert 6500 < sum(sizes) / len(sizes) < 10000, PROFILES[index]


def _digest(spec: WebSpec) -> str:
    web, digest = SimWeb(spec), sha256()
    for host in web.hosts():
        for resource in web.resources(host):
            digest.update(repr(web.answer(host, resource.path)).encode())
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    spec = WebSpec(hosts=20, pages=80, faults=True)
    code = f"from tests.simweb.test_features import WebSpec, _digest; print(_digest({spec}))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert there.stdout.strip() == _digest(spec)


def test_another_seed_gives_another_web() -> None:
    first, second = SimWeb(WebSpec(seed=1)), SimWeb(WebSpec(seed=2))
    assert set(first.hosts()) != set(second.hosts())
    assert first.answer(first.hosts()[0], "/").body != second.answer(second.hosts()[0], "/").body


def test_numbered_pages_are_exactly_as_many_as_asked_for() -> None:
    for spec in (WebSpec(), WebSpec(hosts=1, pages=1), WebSpec(hosts=333, pages=1000)):
        sizes = SimWeb(spec).sites.sizes
        assert sum(sizes[index] for index in range(spec.hosts)) == spec.pages


def test_ten_million_pages_need_no_memory_of_their_own() -> None:
    tracemalloc.start()
    try:
        web = SimWeb(WebSpec(hosts=50, pages=10_000_000))
        for number in range(0, 1_000_000, 10_007):
            site = web.sites.site(0)
            assert web.answer(site.name, site.path(number)).status == 200
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hosts": 0}, "hosts=0 is invalid: it must be an integer from 1 to 200000"),
        ({"pages": 2.5}, "pages=2.5 is invalid: it must be an integer"),
        ({"changing": 2}, "changing=2 is invalid: it must be a number from 0 to 1"),
        ({"latency": float("nan")}, "latency=nan is invalid"),
        ({"links": True}, "links=True is invalid"),
        ({"faults": "yes"}, "faults='yes' is invalid: it must be true or false"),
        ({"hosts": 9, "pages": 8}, "pages=8 is less than hosts=9"),
    ],
)
def test_invalid_spec_is_a_usage_error_that_names_the_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        WebSpec(**wrong)
    assert message in str(caught.value)


def test_simweb_imports_nothing_of_the_crawler() -> None:
    package = Path(simweb.__file__).parent
    imported: set[str] = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
    shared = {name for name in imported if name.partition(".")[0] == "scoter"}
    assert {name for name in shared if not f"{name}.".startswith("scoter.simweb.")} == {"scoter.errors"}
