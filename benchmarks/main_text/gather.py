"""Download packages that hold pages, and write the sets from them."""

from __future__ import annotations

import argparse
import gzip
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from benchmarks.main_text.articles import article_sets
from benchmarks.main_text.documentation import HOSTS, Host
from benchmarks.main_text.page_sets import Page, write
from scoter.parse.encoding import decode_page

_SEED: Final = 20260
_MEASURED: Final = 24
_KNOWN: Final = 40
_LEAST_WORDS: Final = 60
_LARGEST: Final = 1_500_000
_UNWANTED: Final = re.compile(
    r"_source\.html|genindex|py-modindex|/search|_modules|src-html|print\.html|/all\.html|404"
)


def main() -> None:
    """Gather all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("build/main_text"))
    parser.add_argument("--only", choices=["documentation", "articles"])
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    if options.only != "articles":
        write(options.into / "documentation.jsonl", list(_documentation(options.into / "packages")))
    if options.only != "documentation":
        for name, pages in article_sets(options.into / "packages"):
            write(options.into / f"{name}.jsonl", pages)
            print(f"{name}: {len(pages)} pages", file=sys.stderr)


def _documentation(packages: Path) -> Iterator[Page]:
    packages.mkdir(parents=True, exist_ok=True)
    for host in HOSTS:
        folder = _unpacked(packages, host.package)
        if folder is None:
            print(f"{host.package}: not available here", file=sys.stderr)
            continue
        pages = list(_manual_pages(packages) if host.generator == "mandoc" else _pages(host, folder / host.folder))
        measured = sum(not page.known for page in pages)
        print(f"{host.package} ({host.generator}): {measured} measured, {len(pages) - measured} known", file=sys.stderr)
        yield from pages


def _unpacked(packages: Path, package: str) -> Path | None:
    """Return the folder of an unpacked Debian package, or ``None`` if this machine cannot download it."""
    folder = packages / package
    if not folder.exists():
        if not list(packages.glob(f"{package}_*.deb")):
            subprocess.run(["apt-get", "download", "-qq", package], cwd=packages, capture_output=True)
        for file in packages.glob(f"{package}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", file, folder], check=True)
            file.unlink()
    return folder if folder.exists() else None


def _pages(host: Host, folder: Path) -> Iterator[Page]:
    files = [file for file in folder.rglob("*.html*") if file.is_file() and not file.is_symlink()]
    files = sorted(file for file in files if file.suffix in {".html", ".en"} and not _UNWANTED.search(str(file)))
    random.Random(_SEED).shuffle(files)
    files.sort(key=lambda file: file.name not in host.named)
    named = [(file.relative_to(folder).as_posix(), file.read_bytes()) for file in files[: 4 * (_MEASURED + _KNOWN)]]
    yield from _chosen(host, named)


def _chosen(host: Host, files: list[tuple[str, bytes]]) -> Iterator[Page]:
    measured = known = 0
    for name, markup in files:
        if len(markup) > _LARGEST:
            continue
        page = _with_gold(host, name, _decoded(markup))
        if page is not None and measured < _MEASURED:
            measured += 1
            yield page
        elif known < _KNOWN:
            known += 1
            yield Page(name, _host_name(host), _decoded(markup), host.generator, known=True)


def _with_gold(host: Host, name: str, html: str) -> Page | None:
    tree = LexborHTMLParser(html)
    found = _outermost(tree.css(host.content))
    either = [node.html or "" for node in tree.css(host.either)] if host.either else []
    for selector in (host.menus, host.either, "script, style"):
        for node in [node for part in found for node in part.css(selector)] if selector else []:
            node.decompose()
    gold = "\n".join(node.html or "" for node in found)
    words = re.findall(r"\w+", " ".join(node.text(separator=" ") for node in found))
    if len(words) < _LEAST_WORDS:
        return None
    return Page(name, _host_name(host), html, host.generator, gold=gold, either="\n".join(either))


def _decoded(markup: bytes) -> str:
    return decode_page(markup).utf8.decode("utf-8", "replace")


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    seen: set[int] = set()
    found = []
    for node in nodes:
        parent = node.parent
        while parent is not None and parent.mem_id not in seen:
            parent = parent.parent
        if parent is None:
            found.append(node)
            seen.add(node.mem_id)
    return found


def _host_name(host: Host) -> str:
    return f"{host.package}-{Path(host.folder).name}" if host.package == "rust-doc" else host.package


def _manual_pages(packages: Path) -> Iterator[Page]:
    """Yield manual pages as mandoc writes them."""
    host = next(host for host in HOSTS if host.generator == "mandoc")
    source = _unpacked(packages, "manpages-dev")
    if source is None:
        return
    files = sorted((source / "usr/share/man").glob("man[1-8]/*.gz"))
    random.Random(_SEED).shuffle(files)
    program = packages / "mandoc/usr/bin/mandoc"
    pages = []
    for file in files[:120]:
        with gzip.open(file) as opened:
            markup = subprocess.run([program, "-T", "html"], input=opened.read(), capture_output=True).stdout
        pages.append((file.stem + ".html", markup))
    yield from _chosen(host, pages)


if __name__ == "__main__":
    main()
