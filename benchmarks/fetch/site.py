"""Static pages for the benchmark."""

from __future__ import annotations

import random
from pathlib import Path

PAGES = 200  # files; the URLs differ in their query
PAGE_BYTES = 25_000
LARGE_BYTES = 3 * 2**20
ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"


def write(root: Path) -> None:
    """Write pages of many words, so that they compress like real pages."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    pages = root / "pages"
    pages.mkdir()
    for number in range(PAGES):
        text = f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body>\n"
        while len(text) < PAGE_BYTES:
            link = f'<a href="/{chance.randrange(PAGES)}.html">{chance.choice(words)}</a>'
            text += f"<p>{' '.join(chance.choices(words, k=40))} {link}</p>\n"
        (pages / f"{number}.html").write_text(text)
    (pages / "large.html").write_bytes(b"<p>and so on</p>\n" * (LARGE_BYTES // 17))
    (pages / "robots.txt").write_text(ROBOTS)
