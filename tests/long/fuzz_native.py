"""Fuzz the modules in C, built with AddressSanitizer: they must find what those in Python find.

    python -m tests.long.fuzz_native [--seconds 60] [--seed N] [--pages DIR...]

Builds the modules into a temporary folder, and starts itself again with them. Pages are random markup, and pages of DIR
with random damage. Exits with 1 if a page is read differently or memory is used wrongly.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.parse.html.markup import some_markup

ROOT = Path(__file__).parents[2]
MOST_BYTES = 200_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--pages", type=Path, nargs="*", default=[ROOT / "tests" / "parse"])
    parser.add_argument("--modules", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.modules is None:
        return _start(given)
    for module in given.modules.glob("*.so"):
        _load(module)
    return _fuzz(given.seconds, given.seed, given.pages)


def _start(given: argparse.Namespace) -> int:
    """Build the modules with AddressSanitizer, whose library must be loaded before all others."""
    from hatch_build import MODULES, compile_module

    with tempfile.TemporaryDirectory() as folder:
        flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover", "-g", "-O1"]
        for source in MODULES:
            name = ".".join(source.relative_to("src").with_suffix("").parts)
            compile_module(ROOT / source, Path(folder) / f"{name}.so", flags)
        library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        environment = {
            **os.environ,
            "LD_PRELOAD": library.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter leaks at its end
            "PYTHONMALLOC": "malloc",
        }
        again = [sys.executable, "-m", "tests.long.fuzz_native", "--modules", folder, "--seed", str(given.seed)]
        again += ["--seconds", str(given.seconds), "--pages", *map(str, given.pages)]
        return subprocess.run(again, env=environment, check=False).returncode


def _load(module: Path) -> None:
    """Import a module in place of the installed one."""
    name = module.name.partition(".so")[0]
    loader = importlib.machinery.ExtensionFileLoader(name, str(module))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    loader.exec_module(sys.modules[name])


def _fuzz(seconds: float, seed: int, folders: list[Path]) -> int:
    from scoter.core import traps
    from scoter.core.needles import Needles, occur_native
    from scoter.core.page import Content
    from scoter.core.url import canonical
    from scoter.parse.byte_search import count_native, is_utf8_native
    from scoter.parse.html import HtmlOptions, HtmlReader
    from scoter.parse.html.walk import IS_NATIVE
    from scoter.parse.prescan import _FEW_WATCHED, _watched_in_python, find_watched

    assert IS_NATIVE
    assert traps.split_words is not None
    assert find_watched is not None
    assert occur_native is not None
    assert count_native is not None
    assert is_utf8_native is not None
    files = sorted(path for folder in folders for path in folder.rglob("*.htm*") if path.is_file())
    url = canonical("http://a.example/docs/page.html")
    every = HtmlOptions(script_links=True, form_actions=True, metadata=True)
    readers = [[HtmlReader(options, native=native) for native in (False, True)] for options in (HtmlOptions(), every)]
    ends = time.monotonic() + seconds
    number = 0
    while time.monotonic() < ends:
        chance = random.Random(f"{seed}/{number}")
        body = _damaged(chance, files) if files and chance.random() < 0.4 else _random(chance)
        content = Content(url=url, media_type="text/html", body=body)
        in_python, in_c = (reader.read(content) for reader in readers[number % 2])
        said = in_python.title, in_python.text
        words = traps._split_in_python(*said)
        differs = in_python != in_c or (traps.split_words(*said, traps._DATE_FIELDS) or words) != words
        differs |= count_native(body, ord("<")) != body.count(b"<")
        differs |= is_utf8_native(body) != (body.decode(errors="ignore").encode() == body)
        needles = _needles(chance, body)
        differs |= Needles(*needles).occur_in(body) != any(each in body for each in needles)
        if differs or find_watched(body, _FEW_WATCHED) != _watched_in_python(body):
            file = Path(tempfile.gettempdir()) / f"walk-{seed}-{number}.html"
            file.write_bytes(body)
            print(f"page {number} of seed {seed} is read differently: {file}", file=sys.stderr)
            return 1
        number += 1
    print(f"{number:,} pages of seed {seed} are read equally")
    return 0


def _random(chance: random.Random) -> bytes:
    return some_markup(chance, chance.choice((20, 100, 1_000))).encode(errors="replace")


def _needles(chance: random.Random, body: bytes) -> list[bytes]:
    """Return pieces of a body, most of which are changed."""
    found = []
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(body) + 1)
        piece = bytearray(body[at : at + chance.randrange(6, 20)].ljust(6, b"<"))
        if chance.random() < 0.9:
            piece[chance.randrange(len(piece))] ^= 1
        found.append(bytes(piece))
    return found


def _damaged(chance: random.Random, files: list[Path]) -> bytes:
    body = bytearray(chance.choice(files).read_bytes()[:MOST_BYTES])
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(body) + 1)
        body[at : at + chance.choice((0, 1, 5, 200))] = some_markup(chance, 5).encode(errors="replace")
    return bytes(body)


if __name__ == "__main__":
    sys.exit(main())
