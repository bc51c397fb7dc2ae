"""Documentation in Debian packages, and the queries about it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

from msgspec import Struct

QUERIES: Final = Path(__file__).with_name("queries.txt")


class DocumentationSet(Struct, frozen=True):
    """The documentation of a package: where it is, and which of its pages are searched."""

    name: str
    package: str
    folder: str
    pages: str = r".*\.html"


SETS: Final = (
    DocumentationSet(
        "python", "python3.11-doc", "usr/share/doc/python3.11/html", r"(?!genindex|py-modindex|search).*\.html"
    ),
    DocumentationSet(
        "postgresql", "postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html", r"(?!bookindex).*\.html"
    ),
    DocumentationSet("git", "git-doc", "usr/share/doc/git-doc"),
    DocumentationSet("debian", "debian-reference-en", "usr/share/debian-reference", r".*\.en\.html"),
    DocumentationSet(
        "rust",
        "rust-doc",
        "usr/share/doc/rust-doc/html",
        r"(?:book/(?:ch\d|appendix-)|std/(?!all\.html)|reference/(?!print\.html))[^!]*\.html",
    ),
)


class DocumentationQuery(Struct, frozen=True):
    """A query, and the pages that answer it. A third is held out: nothing may be tuned on it."""

    set: str
    text: str
    expected: tuple[str, ...]

    @property
    def is_held_out(self) -> bool:
        return crc32(f"{self.set} {self.text}".encode()) % 3 == 0


def queries() -> Iterator[DocumentationQuery]:
    """Yield the queries."""
    name = ""
    for line in QUERIES.read_text().splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif " | " in line and not line.startswith("#"):
            text, _, expected = line.partition(" | ")
            yield DocumentationQuery(name, text, tuple(expected.split()))


def gathered(each: DocumentationSet, into: Path) -> Path | None:
    """Copy the pages of a set, and return their folder; ``None`` if this machine cannot download the package."""
    site = into / "sites" / each.name
    if site.exists():
        return site
    packages = into / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-qq", each.package], cwd=packages, capture_output=True, check=False)
    files = sorted(packages.glob(f"{each.package}_*.deb"))
    if not files:
        print(f"{each.package}: not available here", file=sys.stderr)
        return None
    unpacked = packages / each.package
    subprocess.run(["dpkg-deb", "-x", files[-1], unpacked], check=True)
    source = unpacked / each.folder
    wanted = re.compile(each.pages)
    draft = site.with_suffix(".draft")
    shutil.rmtree(draft, ignore_errors=True)
    for file in sorted(source.rglob("*.html")):
        name = file.relative_to(source).as_posix()
        if wanted.fullmatch(name) and file.is_file():
            target = draft / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    draft.rename(site)
    return site
