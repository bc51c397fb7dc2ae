"""sitemap: which entries are added to the crawldb, and what happens to known URLs."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.batch.making import DAY, MONTH, NOW, crawldb_of, known, make_crawl

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.sitemap import SitemapResult, sitemap
from scoter.batch.urls import records, sitemaps
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError, UserError
from scoter.simweb import WebSpec, running
from scoter.store.tables import Table

HOST = "http://a.org"
A, B = f"{HOST}/", "http://b.org/"


class Sites:
    """Files by URL; a text that begins with ``->`` is a redirect. ``asked`` holds the requests."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | str] = {}
        self.asked: list[str] = []
        self.port = 0

    def settings(self, *more: str) -> list[str]:
        return [
            "agent.name=mapbot",
            f'fetch.connect_to=["*:80=127.0.0.1:{self.port}"]',
            "fetch.delay=0s",
            "fetch.adaptive_delay=false",
            "http.robots_503_defer_visits=false",
            *more,
        ]


@contextmanager
def serving(sites: Sites) -> Iterator[Sites]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = f"http://{self.headers['Host']}{self.path}"
            sites.asked.append(url)
            found = sites.files.get(url)
            body = found.encode() if isinstance(found, str) else found or b""
            if body.startswith(b"->"):
                self.send_response(302)
                self.send_header("Location", body[2:].decode())
                body = b""
            else:
                self.send_response(500 if body == b"500" else 404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sites.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield sites
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web() -> Iterator[Sites]:
    with serving(Sites()) as sites:
        yield sites


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return make_crawl(tmp_path / "crawl", [known(A)])


def listing(*entries: str) -> str:
    """Return a sitemap of paths; further elements of an entry follow its path."""
    parted = [entry.partition(" ") for entry in entries]
    return "<urlset>" + "".join(f"<url><loc>{loc}</loc>{more}</url>" for loc, _, more in parted) + "</urlset>"


def index(*locs: str) -> str:
    return "<sitemapindex>" + "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locs) + "</sitemapindex>"


def read(
    crawl: CrawlDir, engine: Engine, web: Sites, *urls: str, settings: tuple[str, ...] = (), **options: Any
) -> SitemapResult:
    return sitemap(crawl, engine, load(None, {}, web.settings(*settings)), urls, now=NOW, **options)


def urls_of(crawl: CrawlDir) -> set[str]:
    return set(crawldb_of(crawl)) - {A}


def test_sitemaps_named_by_robots_txt_are_read_for_the_sites_of_the_crawldb(
    crawl: CrawlDir, engine: Engine, web: Sites
) -> None:
    web.files = {
        f"{HOST}/robots.txt": "User-agent: *\nDisallow: /private\nSitemap: http://a.org/maps/all.xml\nSitemap: /b.gz",
        f"{HOST}/maps/all.xml": index("/maps/1.xml"),
        f"{HOST}/maps/1.xml": listing("/1", "/2", "/"),
        f"{HOST}/b.gz": gzip.compress(listing("/3").encode()),
        f"{HOST}/sitemap.xml": listing("/guessed"),
    }
    done = read(crawl, engine, web)
    assert (done.sites, done.sitemaps, done.indexes, done.new, done.known) == (1, 3, 1, 3, 1)
    assert urls_of(crawl) == {f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"}
    assert web.asked.count(f"{HOST}/robots.txt") == 1
    assert f"{HOST}/sitemap.xml" not in web.asked


def test_fields_of_an_entry_set_its_record(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    said = {
        "/all": "<priority>0.8</priority><changefreq>daily</changefreq><lastmod>2026-11-01</lastmod>",
        "/zero": "<priority>0.0</priority><changefreq>always</changefreq><lastmod>2030-01-01</lastmod>",
        "/never": "<changefreq>never</changefreq>",
        "/none": "",
    }
    web.files = {f"{HOST}/sitemap.xml": listing(*(f"{path} {more}" for path, more in said.items()))}
    assert read(crawl, engine, web).new == 4
    found = {path: crawldb_of(crawl)[HOST + path] for path in said}
    assert {path: (row["score"], row["interval"]) for path, row in found.items()} == {
        "/all": (0.8, 86_400),
        "/zero": (0.5, 60),
        "/never": (0.5, 3 * MONTH),
        "/none": (0.5, MONTH),
    }
    assert {path: row["modified_time"] for path, row in found.items() if row["modified_time"]} == {
        "/all": datetime(2026, 11, 1, tzinfo=UTC)
    }
    assert {(row["status"], row["fetch_time"], row["retries"]) for row in found.values()} == {("unfetched", NOW, 0)}


def test_first_entry_of_a_url_listed_twice_counts(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {
        f"{HOST}/sitemap.xml": listing("/x <priority>0.9</priority>", "/x <priority>0.1</priority>", "/y#z", "/y")
    }
    done = read(crawl, engine, web)
    assert (done.new, crawldb_of(crawl)[f"{HOST}/x"]["score"]) == (2, 0.9)


def test_known_url_is_left_unchanged(tmp_path: Path, engine: Engine, web: Sites) -> None:
    crawl = make_crawl(tmp_path / "c", [known(A, "fetched", score=5.0, interval=77, modified_time=NOW - DAY)])
    before = crawldb_of(crawl)
    web.files = {f"{HOST}/sitemap.xml": listing("/ <priority>0.1</priority><changefreq>daily</changefreq>")}
    done = read(crawl, engine, web)
    assert (done.new, done.known, done.changed) == (0, 1, 0)
    assert crawldb_of(crawl) == before
    with Table.open(crawl.crawldb) as table:
        assert table.version == 1


def test_overwrite_changes_only_fields_that_the_entry_has(tmp_path: Path, engine: Engine, web: Sites) -> None:
    rows = [
        known(f"{HOST}/{name}", status, score=5.0, interval=77, modified_time=modified, retries=2, metadata={"k": "v"})
        for name, status, modified in (
            ("full", "unfetched", None),
            ("bare", "fetched", NOW - DAY),
            ("newer", "fetched", NOW - 9 * DAY),
            ("older", "fetched", NOW - DAY),
            ("other", "gone", None),
        )
    ]
    crawl = make_crawl(tmp_path / "c", rows)
    before = crawldb_of(crawl)
    day = (NOW - 5 * DAY).isoformat()
    web.files = {
        f"{HOST}/sitemap.xml": listing(
            f"/full <priority>0.3</priority><changefreq>hourly</changefreq><lastmod>{day}</lastmod>",
            "/bare",
            f"/newer <lastmod>{day}</lastmod>",
            f"/older <lastmod>{day}</lastmod>",
            "/new",
        )
    }
    done = read(crawl, engine, web, settings=("sitemap.url_overwrite_existing=true",))
    assert (done.new, done.known, done.changed) == (1, 4, 3)
    after = crawldb_of(crawl)
    full = f"{HOST}/full"
    assert after[full] == {**before[full], "score": 0.3, "interval": 3_600, "modified_time": NOW - 5 * DAY}
    for dated in (f"{HOST}/newer", f"{HOST}/older"):
        assert after[dated] == {**before[dated], "modified_time": NOW - 5 * DAY}
    for same in ("bare", "other"):
        assert after[f"{HOST}/{same}"] == before[f"{HOST}/{same}"]
    assert f"{HOST}/new" in after


def test_sitemap_is_authoritative_for_its_folder(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {f"{HOST}/shop/map.xml": listing("/shop/1", "/about", B)}
    done = read(crawl, engine, web, f"{HOST}/shop/map.xml")
    assert (urls_of(crawl), done.outside) == ({f"{HOST}/shop/1"}, 2)


def test_sitemap_named_by_robots_txt_and_its_children_cover_the_site(
    crawl: CrawlDir, engine: Engine, web: Sites
) -> None:
    web.files = {
        f"{HOST}/robots.txt": f"Sitemap: {B}maps/a.xml",
        f"{B}maps/a.xml": index("/maps/deep/b.xml"),
        f"{B}maps/deep/b.xml": listing(f"{HOST}/1", f"{B}maps/deep/2", f"{B}3", "http://c.org/"),
    }
    done = read(crawl, engine, web)
    assert (urls_of(crawl), done.outside) == ({f"{HOST}/1", f"{B}maps/deep/2"}, 2)


def test_every_url_is_accepted_if_not_strict(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {f"{HOST}/shop/map.xml": listing("/about", B)}
    done = read(crawl, engine, web, f"{HOST}/shop/map.xml", strict=False)
    assert (urls_of(crawl), done.outside) == ({f"{HOST}/about", B}, 0)


def test_filters_and_normalisers_apply_unless_turned_off(
    crawl: CrawlDir, engine: Engine, web: Sites, tmp_path: Path
) -> None:
    rules = tmp_path / "rules"
    rules.write_text("-secret\n+.\n")
    ruled = (
        'urlfilter.filters=["regex"]',
        f'urlfilter.regex_file="{rules}"',
        'urlnormalizer.normalizers=["querystring"]',
    )
    web.files = {f"{HOST}/sitemap.xml": listing("/secret", "/a?c=2&amp;b=1")}
    assert read(crawl, engine, web, settings=ruled).filtered == 1
    assert urls_of(crawl) == {f"{HOST}/a?b=1&c=2"}
    assert read(crawl, engine, web, settings=ruled, filter=False).filtered == 0
    assert urls_of(crawl) == {f"{HOST}/a?b=1&c=2", f"{HOST}/secret"}
    assert read(crawl, engine, web, settings=ruled, normalize=False).new == 1
    assert f"{HOST}/a?c=2&b=1" in urls_of(crawl)


def test_disallowed_sitemaps_are_not_fetched(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {
        f"{HOST}/robots.txt": "User-agent: *\nDisallow: /maps\nSitemap: /maps/a.xml",
        f"{HOST}/maps/a.xml": listing("/1"),
    }
    done = read(crawl, engine, web)
    assert (done.new, dict(done.unread)) == (0, {"robots_denied": 1})
    assert f"{HOST}/maps/a.xml" not in web.asked


def test_site_with_unavailable_robots_txt_is_skipped(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {f"{HOST}/robots.txt": "500", f"{HOST}/sitemap.xml": listing("/1")}
    done = read(crawl, engine, web)
    assert (done.new, dict(done.unread)) == (0, {"server_error": 1})
    assert f"{HOST}/sitemap.xml" not in web.asked


def test_site_without_a_sitemap_is_not_a_problem(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    assert (read(crawl, engine, web).without, web.asked[-1]) == (1, f"{HOST}/sitemap.xml")
    web.files = {f"{HOST}/sitemap.xml": "<html>Not found</html>"}
    assert read(crawl, engine, web).without == 1
    web.asked.clear()
    done = read(crawl, engine, web, settings=("sitemap.url_default_sitemap_xml=false",))
    assert (done.without, done.problems, web.asked) == (1, (), [])


def test_redirects_are_followed_up_to_the_limit(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {
        f"{HOST}/robots.txt": f"->{B}robots.txt",
        f"{B}robots.txt": f"Sitemap: {HOST}/0",
        **{f"{HOST}/{number}": f"->/{number + 1}" for number in range(3)},
        f"{HOST}/3": listing("/page"),
    }
    assert read(crawl, engine, web).new == 1
    few = read(crawl, engine, web, f"{HOST}/0", settings=("sitemap.redir_max=2",))
    assert dict(few.unread) == {"redirects": 1}
    assert few.problems[0].url == f"{HOST}/2"


def test_circular_and_nested_indexes_end(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {f"{HOST}/{number}.xml": index(f"/{number}.xml", "/0.xml", f"/{number + 1}.xml") for number in range(9)}
    done = read(crawl, engine, web, f"{HOST}/0.xml")
    assert (done.sitemaps, dict(done.unread)) == (4, {"too_deep": 1})


def test_number_of_sitemaps_per_site_is_bounded(
    crawl: CrawlDir, engine: Engine, web: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sitemaps, "MAX_SITEMAPS", 3)
    web.files = {f"{HOST}/{number}.xml": listing(f"/{number}") for number in range(9)}
    web.files[f"{HOST}/all.xml"] = index(*(f"/{number}.xml" for number in range(9)))
    done = read(crawl, engine, web, f"{HOST}/all.xml")
    assert (done.new, dict(done.unread)) == (3, {"too_many": 6})


def test_oversized_sitemap_is_read_up_to_the_limit(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {
        f"{HOST}/a.xml": listing(*(f"/{number}" for number in range(1_000))),
        f"{HOST}/b.xml": gzip.compress(listing(*(f"/b{number}" for number in range(1_000))).encode()),
    }
    done = read(crawl, engine, web, f"{HOST}/a.xml", f"{HOST}/b.xml", settings=("sitemap.size_max=8KiB",))
    assert dict(done.unread) == {"read_in_part": 2}
    assert 400 < done.new < 800


def test_feeds_and_text_files_count_as_sitemaps(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    web.files = {
        f"{HOST}/feed": "<rss><channel><item><link>/news</link><pubDate>1 Nov 2026 00:00:00 GMT</pubDate></item>"
        "</channel></rss>",
        f"{HOST}/map.txt": f"{HOST}/text\nnonsense\n",
        f"{HOST}/page": "<html>a page</html>",
    }
    done = read(crawl, engine, web, f"{HOST}/feed", f"{HOST}/map.txt", f"{HOST}/page")
    assert urls_of(crawl) == {f"{HOST}/news", f"{HOST}/text"}
    assert (done.not_urls, dict(done.unread)) == (1, {"not_a_sitemap": 1})
    assert crawldb_of(crawl)[f"{HOST}/news"]["modified_time"] == NOW - timedelta(days=14, hours=12)


def test_sites_are_given_by_root_robots_txt_or_host_file(tmp_path: Path, engine: Engine, web: Sites) -> None:
    crawl = CrawlDir.create(tmp_path / "new", NOW)
    hosts = tmp_path / "hosts"
    hosts.write_text("# ours\nhttp://c.org/deep/page\nhttp:///\nftp://d.org/\n")
    web.files = {f"http://{name}.org/sitemap.xml": listing(f"/{name}") for name in "abc"}
    done = read(crawl, engine, web, A, "http://b.org/robots.txt", hosts=[str(hosts)])
    assert set(crawldb_of(crawl)) == {f"http://{name}.org/{name}" for name in "abc"}
    assert (done.sites, done.bad_starts) == (3, 2)
    assert [each.where.rpartition(":")[2] for each in done.complaints] == ["3", "4"]


def test_host_without_a_scheme_uses_https(tmp_path: Path, engine: Engine, web: Sites) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("c.invalid\n")
    done = read(CrawlDir.create(tmp_path / "new", NOW), engine, web, hosts=[str(hosts)], settings=("http.timeout=1s",))
    assert done.problems[0].url == "https://c.invalid/robots.txt"


def test_mistakes_are_reported_before_any_request(tmp_path: Path, engine: Engine, web: Sites) -> None:
    crawl = CrawlDir.create(tmp_path / "new", NOW)
    with pytest.raises(UsageError, match="neither a file nor a URL"):
        read(crawl, engine, web, "nonsense")
    with pytest.raises(UsageError, match="no such file"):
        read(crawl, engine, web, hosts=["http://a.org/"])
    with pytest.raises(UsageError, match="the crawldb has no http or https URLs"):
        read(crawl, engine, web)
    with pytest.raises(UserError, match="name"):
        sitemap(crawl, engine, load(None, {}, []), [A], now=NOW)
    assert web.asked == []
    assert not crawl.crawldb.exists()


def test_failure_in_the_middle_changes_nothing(
    crawl: CrawlDir, engine: Engine, web: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.files = {f"{HOST}/a.xml": listing("/1"), f"{HOST}/b.xml": listing("/2")}
    sow = records.SitemapRecords.add

    def failing(self: Any, entries: Any, below: Any = None) -> None:
        sow(self, entries, below)
        raise UserError("the disk is full")

    monkeypatch.setattr(records.SitemapRecords, "add", failing)
    with pytest.raises(UserError, match="disk"):
        read(crawl, engine, web, f"{HOST}/a.xml", f"{HOST}/b.xml")
    assert urls_of(crawl) == set()
    assert list(crawl.scratch.iterdir()) == []


def test_sitemaps_of_the_synthetic_web_list_its_pages(tmp_path: Path, engine: Engine) -> None:
    with running(WebSpec(seed=3, hosts=8, pages=120, page_bytes=1_500, links=3)) as server:
        config = load(
            overrides=["agent.name=mapbot", f'fetch.connect_to=["*:80=127.0.0.1:{server.port}"]', "fetch.delay=0s"]
        )
        crawl = make_crawl(tmp_path / "c", [known(f"http://{name}/") for name in server.web.hosts()])
        done = sitemap(crawl, engine, config, now=NOW)
        listed = {
            link.url
            for name in server.web.hosts()
            for fact in server.web.resources(name)
            for link in fact.links
            if link.tag == "loc" and "sitemap" not in link.url
        }
    assert len(listed) > 5
    assert set(crawldb_of(crawl)) >= listed
    assert done.new + done.known == len(listed)
