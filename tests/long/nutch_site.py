"""Crawl one site with Nutch's own jobs and with Scoter, and compare statuses, scores, links, documents and ranks.

Nutch's jobs come from its published jar and run in one process. Its plug-ins are not published as jars: `SameSite.java`
has simple ones for this site. Needs Maven and a JDK.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, Final

import pyarrow.dataset as ds

from scoter.batch.crawldir.directory import CrawlDir
from scoter.nutch.crawl.reader import CrawlReader
from scoter.nutch.crawl.records import read_inlinks

HERE: Final = Path(__file__).parent / "nutch" / "site"
HOSTS: Final = tuple(
    f"{name}.home.arpa" for name in ("www.seals", "blog.seals", "www.walrus", "ice", "www.auks", "terns")
)
"""Under a suffix that is on the public suffix list: under another, Nutch takes each host for a domain."""
PAGES: Final = 25
ROUNDS: Final = 4
MOST_APART: Final = 1e-3
"""Largest relative difference of two scores; Nutch computes with four bytes, we with eight."""
NO_LIMITS: Final = ("-D", "link.ignore_limit_page=false", "-D", "link.ignore_limit_domain=false")
DOCUMENTS: Final = "documents.txt"
Row = dict[str, Any]
POINTS: Final = (
    *("net.URLFilter", "net.URLExemptionFilter", "net.URLNormalizer", "parse.Parser", "parse.HtmlParseFilter"),
    *("protocol.Protocol", "scoring.ScoringFilter", "indexer.IndexingFilter", "indexer.IndexWriter"),
    *("exchange.Exchange", "publisher.NutchPublisher", "segment.SegmentMergeFilter"),
)


class Site:
    """A small web with the kinds of links that scores depend on."""

    def __init__(self, seed: int, *, fragments: bool = False) -> None:
        random = Random(seed)
        self._fragments = fragments
        self.urls = [f"http://{host}/p{number}" for host in HOSTS for number in range(PAGES)]
        self._pages = {url: self._page(url, at, random) for at, url in enumerate(self.urls)}

    @property
    def seeds(self) -> list[str]:
        return [f"http://{host}/p0" for host in HOSTS[:3]]

    def answer(self, url: str) -> tuple[int, str, str]:
        """Return status, target and body."""
        name = url.rpartition("/")[2]
        if name.startswith("moved"):
            return (301 if name.endswith("1") else 302), url.replace(name, "p7"), ""
        body = self._pages.get(url)
        return (404, "", "") if body is None else (200, "", body)

    def _page(self, url: str, at: int, random: Random) -> str:
        host, number = url.rpartition("/")[0], at % PAGES
        links = [f"{host}/p{(number * 2 + each) % PAGES}" for each in (1, 2)]
        links += random.choices(
            self.urls, weights=[1 / (each + 1) for each in range(len(self.urls))], k=random.randrange(8)
        )
        links += links[:1] * (number % 3)  # repeated
        if self._fragments:
            links += [f"{url}#part{each}" for each in range(number % 4)]
        links += [f"{host}/p{(number + 1) % PAGES}#top", url][: number % 2 + 1]
        links += [f"{host}/moved{1 + number % 2}", f"{host}/gone{number}"][: number % 3]
        if number == 5:
            links += self.urls[:120]  # more than are kept
        links.sort()  # Of the links to a domain, we keep the first by target, Nutch the first on the page.
        anchors = "".join(f'<p><a href="{each}">to {each[-3:]}</a></p>' for each in links)
        text = "the same text of copies" if number in (8, 9) else " ".join(random.choices(WORDS, k=60))
        title = "Copy" if number in (8, 9) else f"Page {number} of {host[7:]}"
        hidden = f'<a href="{host}/p24" rel="nofollow">no</a>'
        body = "" if number in (8, 9) else f"{anchors}{hidden}"
        return f"<html><head><title>{title}</title></head><body><p>{text}</p>{body}</body></html>"


WORDS: Final = (
    *("seals", "rest", "on", "the", "ice", "while", "walruses", "dive", "and", "terns", "cross", "whole", "sea"),
    *("in", "spring", "or", "autumn"),
)


@contextmanager
def served(site: Site) -> Iterator[int]:
    """Serve all hosts of a site on one port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers["Host"].partition(":")[0]
            status, target, body = site.answer(f"http://{host}{self.path}")
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body.encode())))
            if target:
                self.send_header("Location", target)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def download(jars: Path) -> None:
    """Copy the jar files and compile the program, unless that has been done."""
    pom, copied = HERE / "pom.xml", jars / "pom.xml"
    if not copied.exists() or copied.read_text() != pom.read_text():
        target = f"-DoutputDirectory={jars.absolute()}"
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", target], check=True)
        copied.write_text(pom.read_text())
    subprocess.run(["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(jars), str(HERE / "SameSite.java")], check=True)


def nutch_crawl(jars: Path, folder: Path, site: Site, port: int) -> None:
    """Crawl with Nutch."""
    write_conf(folder / "conf", port, folder)
    (folder / "seeds").mkdir()
    (folder / "seeds" / "seeds.txt").write_text("".join(f"{url}\n" for url in site.seeds))
    classes = f"{folder / 'conf'}:{jars}:{jars}/*"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx700m", quiet, "-cp", classes]
    with (folder / "log.txt").open("w") as log:
        command = ["java", *options, "SameSite", str(folder), str(ROUNDS)]
        done = subprocess.run(command, stdout=log, stderr=log, check=False)
    if done.returncode:
        sys.exit((folder / "log.txt").read_text()[-4_000:])


def write_conf(conf: Path, port: int, folder: Path) -> None:
    (conf / "plugins" / "same-site").mkdir(parents=True)
    given = {
        "plugin.folders": str(conf / "plugins"),
        "plugin.includes": "same-site",
        "http.agent.name": "comparison",
        "same.site.port": str(port),
        "mime.types.file": "",
        "fetcher.server.delay": "0",
        "fetcher.parse": "false",
        "db.signature.class": "org.apache.nutch.crawl.TextProfileSignature",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "mapreduce.job.reduces": "1",
        "mapreduce.client.progressmonitor.pollinterval": "20",
        "mapreduce.client.completion.pollinterval": "20",
        "linkdb.ignore.internal.links": "false",
    }
    items = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in given.items())
    (conf / "nutch-site.xml").write_text(f"<configuration>{items}</configuration>")
    (conf / "host-protocol-mapping.txt").write_text("")
    (conf / "parse-plugins.xml").write_text(
        '<parse-plugins><mimeType name="*"><plugin id="same-site"/></mimeType><aliases>'
        '<alias name="same-site" extension-id="SameSite$SimpleParser"/></aliases></parse-plugins>'
    )
    (conf / "exchanges.xml").write_text("<exchanges/>")
    (conf / "index-writers.xml").write_text(
        '<writers><writer id="lines" class="SameSite$Lines"><parameters>'
        f'<param name="file" value="{folder / DOCUMENTS}"/></parameters>'
        "<mapping><copy/><rename/><remove/></mapping></writer></writers>"
    )
    points = "".join(f'<extension-point id="org.apache.nutch.{each}" name="{each}"/>' for each in POINTS)
    extensions = "".join(
        _extension(point, name, more)
        for point, name, more in (
            ("protocol.Protocol", "LocalProtocol", '<parameter name="protocolName" value="http"/>'),
            ("parse.Parser", "SimpleParser", '<parameter name="contentType" value="*"/>'),
            ("net.URLNormalizer", "FragmentNormalizer", ""),
            ("scoring.ScoringFilter", "Opic", ""),
            ("indexer.IndexWriter", "Lines", ""),
        )
    )
    (conf / "plugins" / "same-site" / "plugin.xml").write_text(
        f'<plugin id="same-site" name="same-site" version="1" provider-name="tests">{points}{extensions}</plugin>'
    )


def _extension(point: str, name: str, more: str) -> str:
    return (
        f'<extension id="{name}" name="{name}" point="org.apache.nutch.{point}">'
        f'<implementation id="SameSite${name}" class="SameSite${name}">{more}</implementation></extension>'
    )


def scoter(*arguments: str | Path) -> str:
    """Run a command and return its output."""
    command = [sys.executable, "-m", "scoter", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def own_crawl(folder: Path, seeds: Path, port: int) -> None:
    """Crawl with Scoter, with the same settings."""
    settings = (
        "agent.name=comparison",
        f'fetch.connect_to=["*:80=127.0.0.1:{port}"]',
        'fetch.allow_networks=["127.0.0.0/8"]',
        "fetch.delay=0s",
        "urlfilter.filters=[]",
        'urlnormalizer.normalizers=["basic"]',
        "db.signature=text-profile",
        "linkdb.ignore_internal_links=false",
    )
    flags = [part for each in settings for part in ("-D", each)]
    scoter("crawl", folder, seeds, "--rounds", str(ROUNDS), "--scope", "any", "--quiet", *flags)


class SiteComparison:
    """Compares an imported crawl of Nutch (``theirs``) with our own, URL by URL."""

    def __init__(self, nutch: Path, theirs: Path, ours: Path) -> None:
        self._nutch = nutch
        self._crawls = [CrawlDir.open(folder) for folder in (theirs, ours)]
        self.results: list[tuple[str, int, int]] = []

    def run(self) -> None:
        known = [rows_of(crawl.crawldb.glob("v*/*.parquet")) for crawl in self._crawls]
        self.same("statuses", known, lambda one, other: one["status"] == other["status"])
        self.same("scores", known, lambda one, other: is_near(one["score"], other["score"]))
        self.same("signatures", known, lambda one, other: one["signature"] == other["signature"])
        linked = [rows_of(crawl.linkdb.glob("v*/*.parquet")) for crawl in self._crawls]
        self.same("inlinks", linked, lambda one, other: _sources(one) == _sources(other))
        # Of several links of a page to another we keep one, with the first anchor text; Nutch keeps each anchor text.
        every = {url: {"inlinks": links} for url, links in nutch_inlinks(self._nutch).items()}
        self.same("anchors", [every, linked[1]], lambda one, other: _anchors(other) <= _anchors(one))
        titles = [rows_of(crawl.segments.glob("*/parse_data/*.parquet")) for crawl in self._crawls]
        self.same("titles", titles, lambda one, other: one["title"] == other["title"])
        texts = [rows_of(crawl.segments.glob("*/parse_text/*.parquet")) for crawl in self._crawls]
        whole = [texts[0], {url: {"text": f"{titles[1][url]['title']} {row['text']}"} for url, row in texts[1].items()}]
        self.same("texts", whole, lambda one, other: one["text"].split() == other["text"].split())

    def documents(self, theirs: Mapping[str, Row], ours: Mapping[str, Row]) -> None:
        sides = [theirs, ours]
        self.same("digests of documents", sides, lambda one, other: one["digest"] == other["digest"])
        self.same("boosts of documents", sides, lambda one, other: is_near(one["boost"], other["boost"]))

    def ranks(self, name: str, theirs: Mapping[str, float], ours: Mapping[str, float]) -> None:
        sides = [{url: {"rank": rank} for url, rank in each.items()} for each in (theirs, ours)]
        self.same(name, sides, lambda one, other: is_near(one["rank"], other["rank"]))

    def same(self, what: str, sides: Sequence[Mapping[str, Row]], agree: Callable[[Row, Row], bool]) -> None:
        """Count the URLs on which both agree; one that only one side has is a difference."""
        theirs, ours = sides
        equal = sum(agree(theirs[url], ours[url]) for url in theirs.keys() & ours.keys())
        self.results.append((what, equal, len(theirs.keys() | ours.keys())))
        print(f"{what}: {equal} of {len(theirs.keys() | ours.keys())} agree", flush=True)


def rows_of(files: Iterator[Path]) -> dict[str, Row]:
    """Return the rows of Parquet files by URL."""
    return {row["url"]: row for row in ds.dataset([str(file) for file in files]).to_table().to_pylist()}


def nutch_inlinks(nutch: Path) -> dict[str, list[Row]]:
    """Return the inlinks in Nutch's linkdb with all anchor texts."""
    records = CrawlReader().records("linkdb", nutch.glob("linkdb/current/*/data"), read_inlinks)
    return {key: [{"url": link.url, "anchor": link.anchor} for link in links] for _, key, links in records}


def nutch_ranks(folder: Path) -> dict[str, float]:
    """Return the ranks that Nutch's NodeDumper wrote."""
    lines = (line.split("\t") for file in folder.glob("part-*") for line in file.read_text().splitlines())
    return {url: float(rank) for url, rank in lines}


def is_near(one: float, other: float) -> bool:
    return abs(one - other) <= MOST_APART * max(abs(one), abs(other))


def _sources(row: Row) -> set[str]:
    return {link["url"] for link in row["inlinks"]}


def _anchors(row: Row) -> set[tuple[str, str]]:
    return {(link["url"], link["anchor"]) for link in row["inlinks"]}


def nutch_documents(file: Path) -> dict[str, Row]:
    """Return what Nutch's indexing job gave an index."""
    lines = (line.split("\t") for line in file.read_text().splitlines())
    return {url: {"digest": digest, "boost": float(boost)} for url, digest, boost in lines}


def own_documents(crawl: Path) -> dict[str, Row]:
    """Return what our indexing job gives an index."""
    scoter("index", crawl, "--quiet", "-D", "index.writers=jsonl")
    files = (crawl / "documents-jsonl").glob("documents-*.jsonl")
    return {row["id"]: row for file in files for row in map(json.loads, file.read_text().splitlines())}


def own_ranks(crawl: Path, *flags: str) -> dict[str, float]:
    """Compute the ranks of our crawl anew, with these settings."""
    scoter("webgraph", crawl, "--rebuild", "--quiet", *flags)
    scoter("linkrank", crawl, "--quiet", *flags)
    lines = scoter("nodedumper", crawl, "--by", "score", "--json").splitlines()
    return {row["url"]: row["score"] for row in map(json.loads, lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--jars", type=Path, default=Path("build/nutch-site"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fragments", action="store_true", help="add links within pages, whose scores differ")
    parser.add_argument("--keep", type=Path, help="folder for both crawls")
    options = parser.parse_args()
    download(options.jars)
    site = Site(options.seed, fragments=options.fragments)
    with tempfile.TemporaryDirectory(prefix="nutch-site-") as temporary, served(site) as port:
        folder = options.keep or Path(temporary)
        nutch, ours = folder / "nutch", folder / "ours"
        nutch.mkdir(parents=True)
        nutch_crawl(options.jars, nutch, site, port)
        scoter("import-nutch-crawl", nutch, folder / "theirs", "--quiet")
        own_crawl(ours, nutch / "seeds", port)
        compared = SiteComparison(nutch, folder / "theirs", ours)
        compared.run()
        compared.documents(nutch_documents(nutch / DOCUMENTS), own_documents(ours))
        for name, flags in (("without limits", NO_LIMITS), ("with limits", ())):
            theirs, own = nutch_ranks(nutch / name.replace(" ", "-") / "ranks"), own_ranks(ours, *flags)
            compared.ranks(f"ranks {name}", theirs, own)
        differing = [what for what, equal, number in compared.results if equal != number]
        if differing and not options.fragments:
            sys.exit(f"Nutch differs: {', '.join(differing)}")


if __name__ == "__main__":
    main()
