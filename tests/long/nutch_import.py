"""Import crawls written with Nutch's and Hadoop's own classes, and compare every field.

`NutchCrawlWriter.java` writes a crawl and, from the accessors of the same objects, what is in it. The last run imports
a large crawl and measures the CPU time per 100,000 records. Needs Maven and a JDK. With --fixtures, it only writes the
small crawls of several releases in `examples/nutch-releases`, which the fast tests import.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset as ds

from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.core.datum import DbStatus, FetchStatus, short_name
from scoter.store.warc import ArchiveFolder

HERE = Path(__file__).parent / "nutch"
RELEASES = Path(__file__).parents[2] / "examples" / "nutch-releases"
CODECS = "org.apache.hadoop.io.compress."
KINDS = (
    ("NONE", ""),
    ("RECORD", "DefaultCodec"),
    ("BLOCK", "DefaultCodec"),
    ("BLOCK", "BZip2Codec"),
    ("BLOCK", "SnappyCodec"),
    ("RECORD", "Lz4Codec"),
)
FIRST, SECOND, THIRD = "20261114120000", "20261116120000", "20261117120000"
MAX_CPU = 60.0
"""CPU seconds for 100,000 records."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--jars", type=Path, default=Path("build/nutch"))
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--large", type=int, default=20_000, help="pages of the measured crawl; 0 for none")
    parser.add_argument("--fixtures", action="store_true", help="only write the crawls in examples/nutch-releases")
    options = parser.parse_args()
    download(options.jars)
    if options.fixtures:
        write_fixtures(options.jars)
        return
    with tempfile.TemporaryDirectory(prefix="nutch-import-") as folder:
        for number, (kind, codec) in enumerate(KINDS):
            nutch, crawl = Path(folder) / f"nutch{number}", Path(folder) / f"crawl{number}"
            write_crawl([options.jars, options.jars / "*"], nutch, options.pages, kind, codec)
            report = json.loads(imported(nutch, crawl)[0])
            compared = Comparison(nutch, crawl).run(report)
            problems = damaged(nutch, Path(folder) / f"damaged{number}", seed=number)
            print(f"{kind} {codec}: {compared:,} values are equal; {problems} problems if damaged", flush=True)
        if options.large:
            measure(options.jars, Path(folder), options.large)


def download(jars: Path) -> None:
    """Copy the jar files that the writer needs, if they are not there yet, and compile it."""
    if not any(jars.glob("nutch-1.22.jar")):
        _maven("dependency:copy-dependencies", jars)
    compile_writer([jars / "*"], jars)


def _maven(goal: str, jars: Path) -> None:
    target = f"-DoutputDirectory={jars.absolute()}"
    subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), goal, target], check=True)


def compile_writer(jars: Sequence[Path], out: Path) -> None:
    classes = ":".join(map(str, jars))
    program = str(HERE / "NutchCrawlWriter.java")
    subprocess.run(["javac", "-nowarn", "-cp", classes, "-d", str(out), program], check=True)


def write_fixtures(jars: Path) -> None:
    """Write a crawl of four pages with the classes of each release, as an archive of some kilobytes."""
    releases = jars / "releases"
    _maven("dependency:copy@releases", releases)
    others = [each for each in jars.glob("*.jar") if not each.name.startswith("nutch-")]
    for jar in sorted(releases.glob("nutch-*.jar")):
        with tempfile.TemporaryDirectory(prefix="nutch-release-") as folder:
            classes, crawl = Path(folder) / "classes", Path(folder) / "crawl"
            compile_writer([jar, *others], classes)
            write_crawl([classes, jar, *others], crawl, 4, "BLOCK", "DefaultCodec")
            with tarfile.open(RELEASES / f"{jar.stem}.tar.xz", "w:xz", format=tarfile.PAX_FORMAT) as archive:
                for file in sorted(each for each in crawl.rglob("*") if each.is_file() and each.suffix != ".crc"):
                    archive.add(file, file.relative_to(crawl), filter=_anonymous)
        print(f"{jar.stem}: {(RELEASES / f'{jar.stem}.tar.xz').stat().st_size:,} bytes")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


def write_crawl(jars: Sequence[Path], out: Path, pages: int, kind: str, codec: str, *more: str) -> None:
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", ":".join(map(str, jars))]
    subprocess.run(
        ["java", *options, "NutchCrawlWriter", str(out), str(pages), kind, CODECS + codec, *more], check=True
    )


def imported(nutch: Path, crawl: Path) -> tuple[str, float]:
    """Import a crawl; return the report and the CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "scoter", "import-nutch-crawl", str(nutch), str(crawl), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def damaged(nutch: Path, crawl: Path, seed: int) -> int:
    """Damage every file of a crawl in one place and import it; return the number of problems.

    Whatever is damaged, the import must end with a report or with one message.
    """
    random = Random(seed)
    for file in sorted(each for each in nutch.rglob("part-*") if each.is_file()) + sorted(nutch.rglob("data")):
        data = bytearray(file.read_bytes())
        at = random.randrange(len(data))
        data[at : at + 4] = random.randbytes(len(data[at : at + 4]))
        file.write_bytes(data)
    command = [sys.executable, "-m", "scoter", "import-nutch-crawl", str(nutch), str(crawl), "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2), done.stderr
    assert crawl.exists() == (done.returncode < 2)
    return json.loads(done.stdout)["problem_count"] if done.stdout else 0


def measure(jars: Path, folder: Path, pages: int) -> None:
    nutch = folder / "large"
    write_crawl([jars, jars / "*"], nutch, pages, "BLOCK", "DefaultCodec", "quiet")
    report, seconds = imported(nutch, folder / "large-crawl")
    records = sum(part["read"] for part in json.loads(report)["parts"])
    share = seconds * 100_000 / records
    print(f"{pages:,} pages, {records:,} records: {seconds:.1f} CPU s, {share:.1f} s per 100,000 records")
    assert share <= MAX_CPU, f"more than {MAX_CPU:.0f} CPU s"


class Comparison:
    """Compares the tables of an imported crawl with what was written."""

    def __init__(self, nutch: Path, crawl: Path) -> None:
        self.crawl = CrawlDir.open(crawl)
        self.compared = 0
        self.expected: defaultdict[str, dict[str, Row]] = defaultdict(dict)
        with (nutch / "expected.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                self.expected[row["kind"]][row["key"]] = row

    def run(self, report: Row) -> int:
        assert not report["problems"], report["problems"]
        assert report["pending"] == [SECOND], report["pending"]
        assert applied_segments(self.crawl.crawldb) == frozenset({FIRST})
        states = {each["name"]: (each["is_fetched"], each["is_parsed"]) for each in report["segments"]}
        assert states == {FIRST: (True, True), SECOND: (True, False), THIRD: (False, False)}, states
        first = self.crawl.segment(FIRST)
        self.records("crawldb", self.crawl.crawldb.glob("v*/*.parquet"), DbStatus)
        self.records("crawl_generate", (first.path / "crawl_generate").glob("*.parquet"), DbStatus)
        fetches = self.records("crawl_fetch", (first.path / "crawl_fetch").glob("*.parquet"), FetchStatus)
        self.contents(fetches, first.content)
        self.links()
        self.hosts()
        self.pages(first.path)
        return self.compared

    def same(self, what: str, one: object, other: object) -> None:
        assert one == other, f"{what}: {one!r} instead of {other!r}"
        self.compared += 1

    def keyed(self, kind: str, rows: Sequence[Row], name: str = "url") -> Iterator[tuple[Row, Row]]:
        expected = self.expected[kind]
        self.same(f"keys of {kind}", {row[name] for row in rows}, set(expected))
        self.same(f"rows of {kind}", len(rows), len(expected))
        for row in rows:
            yield row, expected[row[name]]

    def records(self, kind: str, files: Iterator[Path], statuses: Any) -> dict[str, Row]:
        rows = table(files)
        for row, want in self.keyed(kind, rows):
            where = f"{kind} {row['url']}"
            self.same(where, row["status"], short_name(statuses(want["status"])))
            self.same(where, row["fetch_time"], moment(want["fetch_time"]))
            modified = want["modified_time"]
            self.same(where, row["modified_time"], moment(modified) if modified else None)
            for name in ("retries", "interval", "score"):
                self.same(f"{where} {name}", row[name], want[name])
            self.same(where, row["signature"], bytes.fromhex(want["signature"]) if want["signature"] else None)
            self.same(where, dict(row["metadata"] or ()), want["metadata"])
        return {row["url"]: row for row in rows}

    def contents(self, fetches: Mapping[str, Row], folder: Path) -> None:
        with ArchiveFolder(folder) as archive:
            for url, want in self.expected["content"].items():
                row = fetches[url]
                read = archive.at(row["warc_file"], row["warc_offset"])
                body, stored = bytes.fromhex(want["body"]), want["metadata"]
                self.same(f"body of {url}", read.body, body)
                self.same(f"length of {url}", row["length"], len(body))
                self.same(f"type of {url}", row["content_type"], stored["Content-Type"][0])
                cookies = [value for name, value in read.headers if name == "Set-Cookie"]
                self.same(f"cookies of {url}", cookies, stored["Set-Cookie"])
                self.same(f"ip of {url}", row["ip"], stored.get("_ip_", [None])[0])
                cut = stored.get("http.content.truncated.reason", [None])[0]
                self.same(f"truncation of {url}", row["truncated"], cut)
                self.same(f"http status of {url}", row["http_status"], read.status)
                self.same(f"date of {url}", read.date, moment(self.expected["crawl_fetch"][url]["fetch_time"]))
                if row["status"].startswith("redir"):
                    target = self.expected["crawl_fetch"][url]["metadata"]["_pst_"].partition(": ")[2]
                    self.same(f"target of {url}", row["redirect_to"], target)

    def links(self) -> None:
        for row, want in self.keyed("linkdb", table(self.crawl.linkdb.glob("v*/*.parquet"))):
            found = sorted([each["url"], each["anchor"]] for each in row["inlinks"])
            self.same(f"inlinks of {row['url']}", found, sorted(want["inlinks"]))

    def hosts(self) -> None:
        for row, want in self.keyed("hostdb", table(self.crawl.hostdb.glob("v*/*.parquet"))):
            for name in set(row) & set(want) - {"key", "last_check", "metadata"}:
                self.same(f"{row['url']} {name}", row[name], want[name])
            self.same(row["url"], row["last_check"], moment(want["last_check"]))

    def pages(self, segment: Path) -> None:
        links: defaultdict[str, list[list[str]]] = defaultdict(list)
        for row in table((segment / "crawl_parse").glob("*.parquet")):
            links[row["source"]].append([row["url"], row["anchor"]])
            if row["kind"] == "a":
                assert row["score"] > 0, row
        for row, want in self.keyed("parse_data", table((segment / "parse_data").glob("*.parquet"))):
            where = f"page {row['url']}"
            states = {(1, 0): "success", (1, 100): "redirect", (2, 200): "failed"}
            self.same(where, row["parse_status"], states[want["major"], want["minor"]])
            self.same(where, row["title"], want["title"])
            self.same(where, row["signature"], bytes.fromhex(want["signature"]))
            metadata = {name: "\t".join(values) for name, values in want["metadata"].items()}
            self.same(where, dict(row["metadata"]), metadata)
            self.same(where, (row["language"], row["encoding"], row["content_type"]), ("en", "utf-8", "text/html"))
            self.same(where, row["noindex"], "robots" in metadata)
            if row["parse_status"] != "redirect":
                self.same(f"links of {where}", links[row["url"]], want["outlinks"])
        for row, want in self.keyed("parse_text", table((segment / "parse_text").glob("*.parquet"))):
            self.same(f"text of {row['url']}", row["text"], want["text"])


def table(files: Iterator[Path] | Sequence[Path]) -> list[Row]:
    found: list[Row] = ds.dataset([str(file) for file in files]).to_table().to_pylist()
    return found


def moment(milliseconds: int) -> datetime:
    return EPOCH + timedelta(milliseconds=milliseconds)


if __name__ == "__main__":
    main()
