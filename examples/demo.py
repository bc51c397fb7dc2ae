"""The script behind `make demo`: crawl a synthetic web on loopback in three rounds and inspect the result.

Every line printed after a `$` is a command that you can run yourself.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCOTER = [sys.executable, "-m", "scoter.cli.main"]
CONFIG = """[agent]
name = "demobot"

[fetch]
delay = "0s"                # this web is ours; the default is five seconds
min_crawl_delay = "0s"
max_crawl_delay = "1s"      # sites that ask for more are skipped:
long_crawl_delay = "skip"
connect_to = ["*:80=127.0.0.1:{port}"]
allow_networks = ["127.0.0.0/8"]

[http]
timeout = "2s"
"""
BY_HOST = (
    "select host, count(*) as urls, count(*) filter (status = 'fetched') as fetched, round(sum(score), 2) as score"
    " from crawldb group by host order by urls desc, host limit 5"
)
DENIED = "select url from fetches where reason = 'robots_denied' order by url limit 1"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, serving() as (port, seed):
        os.chdir(folder)
        title("A synthetic web on loopback: 20 hosts, with every kind of robots.txt, redirect, encoding and fault")
        Path("scoter.toml").write_text(CONFIG.format(port=port))
        print("".join(f"  {line}\n" for line in CONFIG.format(port=port).splitlines()), end="")

        title("Three rounds from one seed")
        show("crawl", "mycrawl", seed, "--rounds", "3", "--scope", "any")

        title("What is in the crawldb")
        show("readdb", "mycrawl", "--stats")

        title("The pages with the highest scores")
        show("readdb", "mycrawl", "--top-n", "5")

        title("Any question, in SQL")
        show("sql", "mycrawl", BY_HOST)

        title("Why was this URL not fetched?")
        denied = json.loads(output("sql", "mycrawl", DENIED, "--json") or '{"url": "' + seed + '"}')["url"]
        show("explain", "mycrawl", denied)

    title("Next")
    print("  scoter crawl mycrawl https://example.org/ --agent NAME   crawl a real site")
    print("  scoter simweb --faults                                   serve the synthetic web yourself")
    print("  scoter config show --defaults                            list all settings")


@contextmanager
def serving() -> Iterator[tuple[int, str]]:
    """Run `scoter simweb` on a free port; yield the port and a seed URL."""
    options = ["--port", "0", "--hosts", "20", "--pages", "500", "--seed", "7", "--faults"]
    with subprocess.Popen([*SCOTER, "simweb", "--json", *options], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        started = json.loads(server.stdout.readline())
        try:
            yield started["port"], started["seed"]
        finally:
            server.terminate()


def show(*arguments: str) -> None:
    """Print a command and run it; its progress goes to the terminal."""
    print("\n$ scoter " + " ".join(map(shlex.quote, arguments)), flush=True)
    done = subprocess.run([*SCOTER, *arguments], check=False)
    if done.returncode:
        raise SystemExit(f"the command failed with exit code {done.returncode}")


def output(*arguments: str) -> str:
    return subprocess.run([*SCOTER, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}\n{'─' * len(text)}", flush=True)


if __name__ == "__main__":
    main()
