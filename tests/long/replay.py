"""Crawl a synthetic web, and replay every page from our index with pywb; compare our keys with those of cdxj-indexer.

The crawl is also exported as WACZ packages, which py-wacz must find valid.

    python -m tests.long.replay --tools .venv-replay/bin

pywb, cdxj-indexer and py-wacz are in an environment of their own, because the package `surt`, which they use, has
another licence than Scoter. Every page that was fetched must be replayed with the archived body, and every key must be
equal. A second round, a month later, gets a 304 for most pages: pywb must replay the body at the date of the 304 too.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import json
from tests.long.batch_truth import again, complete
from warcio.archiveiterator import ArchiveIterator

from scoter.simweb import WebSpec, running
from scoter.store.warc.record import digest

WEB = WebSpec(hosts=12, pages=400, page_bytes=3_000)
COLLECTION = "crawl"
_START = 120.0  # seconds in which pywb must answer


def archived(archives: list[Path]) -> dict[str, bytes]:
    """Return the bodies of all pages, as sent, by URL."""
    found = {}
    for archive in archives:
        with archive.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                    found[record.rec_headers.get_header("WARC-Target-URI")] = record.raw_stream.read()
    return found


def unchanged(index: list[bytes]) -> list[tuple[str, str, str]]:
    """Return the URLs, timestamps and digests of all 304 responses."""
    found = [(line.split(b" ", 2)[1].decode(), json.decode(line.split(b" ", 2)[2])) for line in index]
    return [(fields["url"], date, fields["digest"]) for date, fields in found if fields["status"] == "304"]


def differing_keys(tools: Path, archives: list[Path], index: list[bytes]) -> list[str]:
    """Return the lines whose key cdxj-indexer does not give to the same record."""
    command = [str(tools / "cdxj-indexer"), *map(str, archives)]
    theirs = subprocess.run(command, capture_output=True, check=True).stdout.splitlines()
    expected = {_place(line): line.partition(b" ")[0] for line in theirs}
    found = [line for line in index if expected.get(_place(line), b"missing") != line.partition(b" ")[0]]
    return [f"{line[:150].decode()} (there {expected.get(_place(line), b'missing').decode()})" for line in found]


def _place(line: bytes) -> tuple[str, str]:
    fields = json.decode(line.split(b" ", 2)[2])
    return Path(fields["filename"]).name, str(fields["offset"])


@contextmanager
def pywb(tools: Path, folder: Path, archives: list[Path], index: list[bytes]) -> Iterator[str]:
    """Serve the archives with our index; yield the address of the collection."""
    home = folder / "collections" / COLLECTION
    for name in ("archive", "indexes"):
        (home / name).mkdir(parents=True)
    for archive in archives:
        shutil.copy(archive, home / "archive")
    (home / "indexes" / "index.cdxj").write_bytes(b"".join(sorted(index)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "pywb.log").open("wb")
    command = [str(tools.absolute() / "wayback"), "-b", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server:
        try:
            until = time.monotonic() + _START
            while server.poll() is None and time.monotonic() < until:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/{COLLECTION}"
        finally:
            server.terminate()


def replayed(address: str, url: str, date: str = "") -> bytes | None:
    """Return the body that pywb serves for a URL, as archived, at a date or the newest one."""
    asked = urllib.request.Request(f"{address}/{date}id_/{url}", headers={"Accept-Encoding": "gzip, br, zstd, deflate"})
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError:
        return None


def invalid_packages(tools: Path, crawl: Path, out: Path) -> list[str]:
    """Export a crawl as WACZ packages, and return those that py-wacz finds invalid."""
    command = [sys.executable, "-m", "scoter.cli.main", "export", str(crawl), str(out), "--format", "wacz"]
    subprocess.run([*command, "--shard-size", "150", "--include-redirects", "--quiet"], check=True)
    found = []
    for package in sorted(out.glob("*.wacz")):
        check = [str(tools / "wacz"), "validate", "-f", str(package)]
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        if done.returncode or "Validation succeeded" not in done.stdout:
            found.append(f"{package.name} is not valid: {done.stdout[-500:]}{done.stderr[-500:]}")
    if not list(out.glob("*.wacz")):
        found.append("no package was written")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--show", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(WEB) as server:
            directory, _ = complete(folder / "crawl", server, "fetch.processes=1")
            again(directory, server, "fetch.processes=1")
        archives = sorted(directory.segments.glob("*/content/*.warc.gz"))
        index = [line for file in archives for line in _index_of(file).read_bytes().splitlines(keepends=True)]
        differing = differing_keys(given.tools, archives, index)
        invalid = invalid_packages(given.tools, directory.path, folder / "packages")
        pages = archived(archives)
        with pywb(given.tools, folder, archives, index) as address:
            lost = [url for url, body in pages.items() if replayed(address, url) != body]
            confirmed = unchanged(index)
            bodies = {digest(body): body for body in pages.values()}
            for url, date, copy in confirmed:
                if copy not in bodies or replayed(address, url, date) != bodies[copy]:
                    lost.append(f"{url} at {date}")
    print(f"{len(index):,} index lines, {len(differing)} keys differ; {len(pages):,} pages, {len(lost)} not replayed")
    print(f"{len(confirmed):,} responses 304")
    print(f"{len(invalid)} packages invalid")
    for each in (*differing[: given.show], *lost[: given.show], *invalid):
        print(f"  {each}", file=sys.stderr)
    return 1 if differing or lost or invalid or not pages or not confirmed else 0


def _index_of(archive: Path) -> Path:
    return archive.with_name(archive.name.removesuffix(".warc.gz") + ".cdxj")


if __name__ == "__main__":
    sys.exit(main())
