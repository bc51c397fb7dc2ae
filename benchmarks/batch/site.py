"""A static site of many hosts behind nginx: every page links to others, and all can be reached from the first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.nginx import free_port
from benchmarks.nginx import serving as nginx

HOSTS = 60
PAGES = 100
LINKS = 55
ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"


def address(host: int) -> str:
    """Return the loopback address that stands for a host: nobody has to resolve it."""
    return f"127.0.1.{host + 1}"


def write(root: Path, port: int, page_bytes: int) -> None:
    """Write the pages: paragraphs of many words, with links to pages of the same host and of others."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    per_link = page_bytes // LINKS
    for host in range(HOSTS):
        folder = root / "pages" / address(host)
        folder.mkdir(parents=True)
        (folder / "robots.txt").write_text(ROBOTS)
        for page in range(PAGES):
            text = f"<!DOCTYPE html><html><head><title>Page {page} of {host}</title></head><body>\n"
            for number in range(LINKS):
                target = f"/{(page * 7 + number * 3 + chance.randrange(3)) % PAGES}.html"
                if number % 4 == 0:
                    target = f"http://{address(chance.randrange(HOSTS))}:{port}/{chance.randrange(PAGES)}.html"
                link = f'<a href="{target}">{chance.choice(words)} {chance.choice(words)}</a>'
                filling = max(0, (per_link - len(link) - 20) // 6)
                text += f"<p>{' '.join(chance.choices(words, k=filling))} {link}</p>\n"
            (folder / f"{page}.html").write_text(text + "</body></html>\n")


@contextmanager
def serving(root: Path, page_bytes: int) -> Iterator[int]:
    """Serve the site, and give the port."""
    port = free_port()
    write(root, port, page_bytes)
    with nginx(root, port, "pages/$host"):
        yield port
