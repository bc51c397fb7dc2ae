"""What `make demo` shows: a synthetic web on loopback, and what Scoter's rules say of it.

Everything printed after a `$` is a command that you can type yourself.
"""

from __future__ import annotations

import http.client
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCOTER = [sys.executable, "-m", "scoter.cli.main"]


def main() -> None:
    with serving("--hosts", "20", "--pages", "500", "--seed", "7", "--faults") as (port, seed):
        host = seed.split("/")[2]
        title("A web of its own: 20 hosts, every kind of robots.txt, redirect, encoding and fault")
        truth = [json.loads(line) for line in get(port, "control.simweb.test", "/truth").splitlines()]
        unseen = sum(not fact["expected"] for fact in truth)
        print(f"  {len(truth):,} URLs, {unseen} of which no link leads to; after a complete crawl the others should be")
        for status, count in tally(fact["status"] for fact in truth if fact["expected"]):
            print(f"    {count:>6,}  {status}")

        title(f"The front page of {host}, fetched as a browser would")
        page = get(port, host, "/").decode("utf-8", errors="replace")
        links = list(dict.fromkeys(re.findall(r"<a [^>]*href=[\"']([^\"'#]+)", page)))
        print(f"  {len(page):,} characters, {len(links)} links, titled {between(page, '<title>', '</title>')!r}")

        title("Every spelling of a URL is stored under one form")
        spelt = [
            seed.upper(),
            f"{seed}a/./b/../c?q=%7e#top",
            f"http:\\\\user:secret@{host}\\x",
            "http://0x7f.1/",
            "mailto:me@x",
        ]
        show("normalizerchecker", *spelt)

        title("Filters keep a crawl on its way, and say which rule decided")
        show("filterchecker", f"{seed}page", f"{seed}film.mp4", "http://www.example.org/a b.html", f"ftp://{host}/x")

        title("robots.txt is obeyed by the standard, line by line")
        refusing = next(fact for fact in truth if fact["verdict"] == "denied")
        refused_host = refusing["url"].split("/")[2]
        with tempfile.TemporaryDirectory() as folder:
            robots = Path(folder) / "robots.txt"
            robots.write_bytes(get(port, refused_host, "/robots.txt"))
            show("robotschecker", str(robots), refusing["url"], f"http://{refused_host}/", shown_as="robots.txt")

        title("The web keeps a ledger of every request, by which politeness is proved")
        for entry in json.loads(get(port, "control.simweb.test", "/ledger"))["requests"]:
            print(
                f"  {entry['start']:8.3f} s  {entry['status']}  {entry['bytes']:>7,} B  {entry['host']}{entry['path']}"
            )

    title("Next")
    print("  scoter simweb --faults            keep such a web running")
    print("  scoter plugin list                what can be put into the chains")
    print("  scoter config show --defaults     every setting there is")


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[int, str]]:
    """Run `scoter simweb` on a free port; yield the port and a URL to start at."""
    command = [*SCOTER, "simweb", "--port", "0", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        started = json.loads(server.stdout.readline())
        try:
            yield started["port"], started["seed"]
        finally:
            server.terminate()


def get(port: int, host: str, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": host})
    return connection.getresponse().read()


def show(*arguments: str, shown_as: str = "") -> None:
    """Print a command and what it prints."""
    typed = [arguments[0], shown_as, *arguments[2:]] if shown_as else list(arguments)
    print("\n  $ scoter " + " ".join(map(shlex.quote, typed)))
    done = subprocess.run(
        [*SCOTER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    print("".join(f"  {line}\n" for line in done.stdout.splitlines()), end="")


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}\n{'─' * len(text)}")


def tally(values: Iterator[str]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return sorted(counts.items(), key=lambda each: -each[1])


def between(text: str, before: str, after: str) -> str:
    return text.partition(before)[2].partition(after)[0]


if __name__ == "__main__":
    main()
