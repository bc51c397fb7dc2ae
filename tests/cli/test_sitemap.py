"""Output and exit codes of `scoter sitemap`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.batch.jobs.test_sitemap import HOST, Sites, index, listing, serving
from tests.cli.conftest import Run, run_in_process

from scoter.batch.crawldir.directory import CrawlDir

MANY = tuple(f"/{number}" for number in range(3))


@pytest.fixture
def run(tmp_path: Path, web: Sites) -> Run:
    settings = [each for setting in web.settings() for each in ("-D", setting)]
    return partial(run_in_process, tmp_path, *settings)


@pytest.fixture
def web() -> Iterator[Sites]:
    with serving(Sites()) as sites:
        sites.files = {f"{HOST}/sitemap.xml": listing(*MANY, "http://b.org/")}
        yield sites


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(found, [datum(f"{HOST}/"), datum(f"{HOST}/0")])
    return found.path


def test_sites_of_a_crawl_are_checked_and_counted(run: Run, crawl: Path) -> None:
    people = run("sitemap", crawl)
    programs = run("sitemap", crawl, "--json")
    assert (people.code, people.out) == (0, "2 new, 1 already known, 1 outside their sitemap's scope\n")
    assert "Read 1 sitemap; checked 1 site, 0 without a sitemap" in people.err
    found = json.loads(programs.out)
    assert (found["new"], found["known"], found["outside"], found["unread"]) == (0, 3, 1, {})


def test_options_change_which_urls_are_accepted(run: Run, crawl: Path, web: Sites) -> None:
    web.files[f"{HOST}/sitemap.xml"] = listing("/0 <priority>0.2</priority>", "http://b.org/")
    done = run("sitemap", crawl, "--no-strict", "--overwrite", "--quiet")
    assert (done.code, done.out, done.err) == (0, "1 new, 1 known and changed\n", "")
    assert json.loads(run("readdb", crawl, "--url", f"{HOST}/0", "--json").out)["score"] == 0.2


def test_unreadable_sitemap_is_reported_with_its_reason(run: Run, tmp_path: Path, web: Sites) -> None:
    web.files[f"{HOST}/all.xml"] = index("/missing.xml", "/sitemap.xml")
    done = run("sitemap", tmp_path / "new", f"{HOST}/all.xml")
    assert done.out == "3 new, 1 outside their sitemap's scope\n"
    assert "Sitemaps not read, or only in part: 1 not_found" in done.err
    assert f"  {HOST}/missing.xml: not_found" in done.err


def test_exit_code_is_1_without_any_url(run: Run, tmp_path: Path) -> None:
    done = run("sitemap", tmp_path / "new", "http://c.org/")
    assert (done.code, done.out) == (1, "0 new\n")
    assert "checked 1 site, 1 without a sitemap" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none",), "no such directory"),
        (("none", "nonsense"), "neither a file nor a URL"),
        (("none", "--hosts", "nofile"), "no such file"),
        (("none", f"{HOST}/", "-D", "agent.name="), "agent.name"),
    ],
)
def test_usage_error_prints_one_message_and_creates_nothing(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    done = run("sitemap", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "none").exists()


def test_empty_crawl_hints_at_inject(run: Run, tmp_path: Path) -> None:
    crawl_at(tmp_path / "empty")
    done = run("sitemap", "empty")
    assert done.code == 2
    assert "inject seeds first" in done.err


def test_hosts_of_the_hostdb_are_checked(run: Run, crawl: Path, web: Sites) -> None:
    run("updatehostdb", crawl, "--no-check")
    write_crawldb(CrawlDir.open(crawl), [datum("http://c.org/")])

    done = run("sitemap", crawl, "--hostdb")

    assert (done.code, done.out.split(",")[0]) == (0, "3 new")
    assert "checked 1 site" in done.err
    assert run("sitemap", crawl, "http://a.org/sitemap.xml", "--hostdb").code == 2
