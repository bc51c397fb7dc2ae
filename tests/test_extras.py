from __future__ import annotations

import os
import re
import sys
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from scoter.extras import install_command

ROOT = Path(__file__).parents[1]


def installed(folder: Path, direct_url: str = "", installer: str = "pip") -> Distribution:
    """Return a distribution as an installer records it."""
    info = folder / "scoter-0.1.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text(f"{installer}\n")
    if direct_url:
        (info / "direct_url.json").write_text(direct_url)
    return PathDistribution(info)


@pytest.fixture(autouse=True)
def is_activated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the ``pip`` of this environment be the first on the path."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "pip").write_text("#!/bin/sh\n")
    (folder / "pip").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize(
    ("direct_url", "command"),
    [
        ('{"url": "file:///src/scoter", "dir_info": {"editable": true}}', "pip install -e '/src/scoter[text]'"),
        ('{"url": "file:///src/scoter", "dir_info": {}}', "pip install '/src/scoter[text]'"),
        (
            '{"url": "file:///my%20files/scoter-0.1.0-py3-none-any.whl", "archive_info": {"hash": "sha256=00"}}',
            "pip install '/my files/scoter-0.1.0-py3-none-any.whl[text]'",
        ),
        (
            '{"url": "file:///src/scoter-0.1.0.tar.gz", "archive_info": {}}',
            "pip install '/src/scoter-0.1.0.tar.gz[text]'",
        ),
        (
            '{"url": "https://files.example/scoter-0.1.0.tar.gz", "archive_info": {}}',
            "pip install 'scoter[text] @ https://files.example/scoter-0.1.0.tar.gz'",
        ),
        (
            '{"url": "https://code.example/scoter.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "pip install 'scoter[text] @ git+https://code.example/scoter.git@c0ffee'",
        ),
        ("", "pip install 'scoter[text]'"),
    ],
    ids=["editable", "source directory", "wheel", "sdist", "URL", "repository", "package index"],
)
def test_extra_comes_from_where_scoter_was_installed_from(direct_url: str, command: str, tmp_path: Path) -> None:
    assert install_command("text", installed(tmp_path, direct_url)) == command


def test_environment_that_is_not_activated_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert install_command("s3", installed(tmp_path)) == f"{sys.executable} -m pip install 'scoter[s3]'"


def test_environment_of_uv_gets_extras_with_uv(tmp_path: Path) -> None:
    found = installed(tmp_path, installer="uv")

    assert install_command("s3", found) == f"uv pip install --python {sys.executable} 'scoter[s3]'"


def test_no_message_or_page_installs_scoter_from_an_index_by_name() -> None:
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    by_name = re.compile(r"""pip install (-\S+ )*['"]?scoter(\[|['"\s]|$)""")
    wrong = [path.name for path in files if path.name != "extras.py" and by_name.search(path.read_text("utf-8"))]

    assert wrong == []
