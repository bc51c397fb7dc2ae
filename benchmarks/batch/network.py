"""What TLS adds to a crawl, and what a crawl of 5,000 hosts with one page each costs, next to bare loops.

    python -m benchmarks.batch.network [--runs 3] [--hosts 5000]

With TLS: the site of 60 hosts with 6,000 pages of 25 KB, over HTTP, and over HTTPS with and without HTTP/2. nginx
closes each connection after ten requests, because a crawl that waits between requests does not keep connections for
long. It offers session resumption; its log tells how many connections resumed a session. Scoter has no setting for an
authority to trust, so ``http.tls_certificates_check`` is off: it still checks each host's certificate once.

With many hosts: each has a robots.txt and one page of 25 KB. Names are mapped to loopback. The bare loop also requests
every robots.txt, but ignores it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.batch.runs import Run, bare, crawl_arguments, interleaved, median, ratio, scoter
from benchmarks.batch.site import SMALL, Site, address, serving
from benchmarks.nginx import Certificate

SHORT_CONNECTIONS = " keepalive_requests 10;"
SCOTER, BARE = "scoter", "bare"
HTTP, HTTPS, HTTP2 = "HTTP", "HTTPS", "HTTP/2"


def crawl(name: str, folder: Path, port: int, site: Site, **settings: object) -> Callable[[int], Run]:
    """Return a crawl to run any number of times."""

    def run(number: int) -> Run:
        found = scoter(name, crawl_arguments(port, folder / "crawl", site.seeds(port), **settings))
        shutil.rmtree(folder / "crawl")
        return found

    return run


def incomplete(runs: dict[str, list[Run]], site: Site) -> list[str]:
    """Return who did not get all pages."""
    return [name for name, each in runs.items() if min(run.pages for run in each) < site.pages]


def with_tls(rounds: int) -> list[str]:
    """Print what TLS costs; return which crawls were incomplete."""
    secure = SMALL._replace(scheme="https")
    off = {"http__tls_certificates_check": "false"}
    with ExitStack() as stack:
        plain_folder, folder = (Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        addresses = [f"IP:{address(host)}" for host in range(SMALL.hosts)]
        certificate = Certificate.make(folder, addresses)
        plain_port = stack.enter_context(serving(plain_folder, SMALL, rules=SHORT_CONNECTIONS))
        port = stack.enter_context(serving(folder, secure, certificate, SHORT_CONNECTIONS))
        output, log = folder / "bare.gz", folder / "tls.log"

        def logged(contestant: Callable[[int], Run]) -> Callable[[int], Run]:
            def run(number: int) -> Run:
                start = log.stat().st_size
                found = contestant(number)
                print(f"    {connections(log, start)}")
                return found

            return run

        trusting = ("--http2", str(certificate.authority))
        contestants = [
            lambda _: bare(f"{BARE} {HTTP}", output, SMALL.seeds(plain_port)),
            crawl(f"{SCOTER} {HTTP}", plain_folder, plain_port, SMALL),
            logged(crawl(f"{SCOTER} {HTTPS}", folder, port, secure, **off)),
            logged(crawl(f"{SCOTER} {HTTP2}", folder, port, secure, **off, http__http2="true")),
            logged(lambda _: bare(f"{BARE} {HTTP2}", output, secure.seeds(port), *trusting)),
        ]
        runs = interleaved([(each, rounds) for each in contestants], rounds)
    print()
    for who, version in ((SCOTER, HTTPS), (SCOTER, HTTP2), (BARE, HTTP2)):
        times = ratio(runs[f"{who} {version}"], runs[f"{who} {HTTP}"])
        added = median(runs[f"{who} {version}"]).cpu - median(runs[f"{who} {HTTP}"]).cpu
        print(f"{who} over {version}: {times:.2f} times the CPU of HTTP, {1e6 * added / SMALL.pages:+.0f} µs per page")
    return incomplete(runs, SMALL)


def connections(log: Path, start: int) -> str:
    """Tell about the connections in a log from a position on."""
    with log.open() as lines:
        lines.seek(start)
        found = [line.split() for line in lines]
    first = [resumed for resumed, _, number in found if number == "1"]
    versions = sorted({version for _, version, _ in found})
    return f"{len(found):,} requests, {len(first):,} connections, {first.count('r'):,} resumed: {', '.join(versions)}"


def with_many_hosts(rounds: int, hosts: int) -> list[str]:
    """Print what a crawl of many hosts costs; return which crawls were incomplete."""
    site = Site(page_bytes=25_000, links=50, hosts=hosts, pages_per_host=1, has_names=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(folder, site) as port:
            to_one = ("--robots", "--connect-to", f"::127.0.0.1:{port}")
            # libcurl searches all connections to an address for one to reuse, so not all hosts are at one address.
            rules = json.dumps([f"*{digit}.test:{port}=127.0.0.{1 + digit}:{port}" for digit in range(10)])
            runs = interleaved(
                [
                    (lambda _: bare(BARE, folder / "bare.gz", site.seeds(port), *to_one), rounds),
                    (crawl(SCOTER, folder, port, site, fetch__connect_to=rules), rounds),
                ],
                rounds,
            )
    print(f"\n{hosts:,} hosts with one page: {ratio(runs[SCOTER], runs[BARE]):.2f} times the CPU of the bare loop")
    return incomplete(runs, site)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="rounds of each (default: 3)")
    parser.add_argument("--hosts", type=int, default=5_000, help="hosts of the second part (default: 5,000)")
    asked = parser.parse_args()
    missed = [*with_many_hosts(asked.runs, asked.hosts), *with_tls(asked.runs)]
    for name in missed:
        print(f"INCOMPLETE  {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
