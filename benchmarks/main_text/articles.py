"""Articles with what is known of their text, from the test data of published extractors.

- ``phrases``: of each page, a few phrases that belong to its text, and a few that do not (trafilatura's evaluation,
  as the Go module go-trafilatura has it)
- ``readability``: the content as markup (Readability's test pages, as the Go module go-readability has them)
- ``newspaper``: the text, in many scripts (the source distribution of newspaper4k)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Final

from benchmarks.main_text.measures import block_lines, letters
from benchmarks.main_text.page_sets import Page
from scoter.parse.encoding import decode_page

_ENTRY: Final = re.compile(r'^\t"(?P<url>[^"]+)": \{\n(?P<fields>.*?)^\t\},', re.DOTALL | re.MULTILINE)
_FIELD: Final = re.compile(r"^\t\t(\w+):\s*(.*?),\n(?=\t\t\w+:|\Z)", re.DOTALL | re.MULTILINE)
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')


def article_sets(packages: Path) -> Iterator[tuple[str, list[Page]]]:
    """Yield each set that this machine can download, with its name."""
    for name, make, folder in (
        ("phrases", _phrases, _go_module(packages, "github.com/markusmobius/go-trafilatura@v1.12.2")),
        (
            "readability",
            _readability,
            _go_module(packages, "github.com/go-shiori/go-readability@v0.0.0-20251205110129-5db1dc9836f0"),
        ),
        ("newspaper", _newspaper, _source_distribution(packages, "newspaper4k", "0.9.6")),
    ):
        if folder is None:
            print(f"{name}: not available here", file=sys.stderr)
        else:
            yield name, list(make(folder))


def _go_module(packages: Path, module: str) -> Path | None:
    environment = {**os.environ, "GOPATH": str((packages / "go").resolve()), "GOFLAGS": "-mod=mod -modcacherw"}
    try:
        found = subprocess.run(
            ["go", "mod", "download", "-json", module], env=environment, cwd=packages, capture_output=True
        )
    except FileNotFoundError:
        return None
    return Path(json.loads(found.stdout)["Dir"]) if found.returncode == 0 else None


def _source_distribution(packages: Path, name: str, version: str) -> Path | None:
    folder = packages / f"{name}-{version}"
    if not folder.exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary",
                name,
                f"{name}=={version}",
            ],
            cwd=packages,
        )
        for file in packages.glob(f"{name}-{version}.tar.gz"):
            with tarfile.open(file) as opened:
                opened.extractall(packages, filter="data")
    return folder if folder.exists() else None


def _phrases(module: Path) -> Iterator[Page]:
    listed = (module / "scripts/comparison/data.go").read_text()
    for entry in _ENTRY.finditer(listed):
        fields = dict(_FIELD.findall(entry["fields"]))
        name = _strings(fields["File"])[0]
        files = [file for folder in ("comparison", "mock") if (file := module / "test-files" / folder / name).exists()]
        kept, left = _strings(fields.get("With", "")), _strings(fields.get("Without", ""))
        if files and kept:
            html = _decoded(files[0])
            text = letters(unescape(html) + " ".join(block_lines(html)))
            # Some pages were stored without their text, or as an error: what no extractor can find tells nothing.
            found = tuple(phrase for phrase in kept if letters(phrase) in text)
            if found:
                yield Page(name, "phrases", html, kept=found, left=left)


def _strings(literal: str) -> tuple[str, ...]:
    return tuple(
        found[1:-1] if found[0] == "`" else json.loads(found.replace("\t", "\\t"), strict=False)
        for found in _STRING.findall(literal)
    )


def _readability(module: Path) -> Iterator[Page]:
    for folder in sorted((module / "test-pages").iterdir()):
        source, expected = folder / "source.html", folder / "expected.html"
        if source.exists() and expected.exists():
            yield Page(folder.name, "readability", _decoded(source), gold=expected.read_text())


def _newspaper(folder: Path) -> Iterator[Page]:
    for file in sorted((folder / "tests/data/html").glob("*.html")):
        text = folder / "tests/data/txt" / f"{file.stem}.txt"
        if text.exists() and len(content := text.read_text()) > 200:
            yield Page(file.stem, "newspaper", _decoded(file), text=content)


def _decoded(file: Path) -> str:
    return decode_page(file.read_bytes()).utf8.decode("utf-8", "replace")
