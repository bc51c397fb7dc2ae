"""What a release contains. `make release` builds the files and runs the demo from each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from release import pythons
from release.pythons import Missing, Python, find_python

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist and the pure wheel from the working tree."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder, SCOTER_NATIVE="0")
    return folder


def build(folder: Path, *targets: str, **environment: str) -> str:
    """Build the files of a release, and return what was said."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *targets]
    done = subprocess.run(
        command, cwd=ROOT, check=True, env={**os.environ, **environment}, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def metadata(dist: Path) -> Message:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


@pytest.mark.slow
def test_pure_wheel_has_every_module_and_page_and_nothing_else(dist: Path) -> None:
    (wheel,) = dist.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "scoter").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }

    assert {"scoter/py.typed", "scoter/ui/static/app.js"} <= sources
    assert {name for name in names if ".dist-info/" not in name and ".data/" not in name} == sources
    assert [name for name in names if name.endswith(".data/data/share/man/man1/scoter.1")] != []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler")
def test_native_wheel_serves_every_python(tmp_path: Path) -> None:
    build(tmp_path, "--target", "wheel", SCOTER_NATIVE="1")

    (wheel,) = tmp_path.glob("*-cp311-abi3-linux_*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = ("core/_needles", "core/_words", "parse/_bytes", "parse/_prescan", "parse/html/_walk")
    assert {f"scoter/{each}.abi3.so" for each in modules} <= names


@pytest.mark.slow
def test_wheel_is_pure_without_a_compiler(tmp_path: Path) -> None:
    said = build(tmp_path, "--target", "wheel", SCOTER_NATIVE="", CC="/nowhere/cc")

    assert "pure Python, which is slower" in said
    assert len([*tmp_path.glob("*-py3-none-any.whl")]) == 1
    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path, "--target", "wheel", SCOTER_NATIVE="1", CC="/nowhere/cc")


@pytest.mark.slow
def test_sdist_has_what_tests_and_readers_need(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"README.md", "LICENSE", "CHANGELOG.md", "Makefile", "constraints.txt", "tests/test_release.py"} <= names
    assert [name for name in names if name.startswith((".venv", "build/", "dist/", ".git/"))] == []


@pytest.mark.slow
def test_metadata_is_complete(metadata: Message) -> None:
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL") or [])
    classifiers = metadata.get_all("Classifier") or []

    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert metadata["Author"]
    assert metadata["Metadata-Version"] == "2.4", "twine accepts no newer one"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in classifiers
    assert {f"Programming Language :: Python :: {version}" for version in pythons.SUITES} <= set(classifiers)


@pytest.mark.slow
def test_version_is_in_the_changelog(metadata: Message) -> None:
    assert f"\n## [{metadata['Version']}] - 20" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_python_that_cannot_be_had_is_missing_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Missing, match=r"no python2\.7 on the path"):
        find_python("2.7", tmp_path, tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Missing, match="needs root"):
        find_python("3.13", tmp_path, tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Missing, match="mmdebstrap is missing"):
        find_python("3.13", tmp_path, tmp_path)


def test_python_of_an_unpacked_debian_runs_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "trixie" / "usr" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3.13").touch()

    found = find_python("3.13", tmp_path, tmp_path / "work")

    assert (found.executable, found.origin) == ("/usr/bin/python3.13", "Debian trixie")
    assert found.prefix[:4] == ("bwrap", "--bind", str(tmp_path / "trixie"), "/")
    assert found.prefix[-2:] == (str(tmp_path / "work"),) * 2


def test_failed_command_ends_the_release_with_its_output(tmp_path: Path) -> None:
    own = Python("3.11", sys.executable, "this machine")

    with pytest.raises(SystemExit, match="no luck"):
        own.run([own.executable, "-c", "exit('no luck')"], tmp_path)
