"""The third-party plug-in package in examples/, installed into a new environment and used."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "examples" / "scoter-frugal"
Scoter = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a new environment with our packages and the example package."""
    folder = tmp_path_factory.mktemp("scratch")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    ours = sysconfig.get_path("purelib")
    (site / "ours.pth").write_text(f"{ours}\nimport site; site.addsitedir({ours!r})\n")
    source = folder / "source"
    subprocess.run(["cp", "-r", PACKAGE, source], check=True)
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "--no-index", str(source)], check=True)
    return python


@pytest.fixture
def scoter(python: Path, tmp_path: Path) -> Scoter:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-m", "scoter.cli.main", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )

    return run


def test_plugins_are_listed_with_their_package(scoter: Scoter) -> None:
    listed = [json.loads(line) for line in scoter("plugin", "list", "--json").stdout.splitlines()]

    ours = {row["plugin"]: row for row in listed if row["package"] == "scoter-frugal 1.0.0"}
    assert set(ours) == {"urlfilter-few-parameters", "scoring-words"}
    assert ours["scoring-words"]["what_it_is_for"] == "Fetches URLs with given words in their path first."


def test_url_filter_runs_in_the_configured_order(scoter: Scoter) -> None:
    many, few = "http://example.org/?a=1&b=2&c=3&d=4", "http://example.org/?a=1"

    shown = scoter("filterchecker", "-D", 'urlfilter.filters=["validator", "few-parameters"]', many, few)

    assert shown.returncode == 0
    assert f"- {many}" in shown.stdout
    assert "few-parameters  drops  4 parameters, more than 3" in shown.stdout
    assert f"+ {few}" in shown.stdout


def test_plugin_settings_are_validated_and_listed(scoter: Scoter) -> None:
    chain = ["-D", "urlfilter.filters=few-parameters"]
    url = "http://example.org/?a=1&b=2&c=3&d=4"

    assert f"+ {url}" in scoter("filterchecker", *chain, "-D", "plugin.urlfilter-few-parameters.most=4", url).stdout
    wrong = scoter("filterchecker", *chain, "-D", "plugin.urlfilter-few-parameters.mots=4", url)
    assert wrong.returncode == 2
    assert "did you mean plugin.urlfilter-few-parameters.most?" in wrong.stderr
    below = scoter("filterchecker", *chain, "-D", "plugin.urlfilter-few-parameters.most=-4", url)
    assert below.returncode == 2
    assert "[plugin.urlfilter-few-parameters]" in scoter("config", "show", "--defaults").stdout


def test_plugin_command_runs(scoter: Scoter) -> None:
    assert scoter("plugin", "run", "urlfilter-few-parameters", "http://a.test/?x&y").stdout == "2\thttp://a.test/?x&y\n"


def test_scoring_filter_runs_in_the_configured_order(python: Path) -> None:
    code = """
from scoter.config import load
from scoter.core.datum import CrawlDatum, PartStatus
from scoter.core.url import canonical
from scoter.plugins import chain

config = load(overrides=['scoring.filters=["opic", "words"]', 'plugin.scoring-words.words=["news", "today"]'])
url = canonical("http://example.org/news/today")
datum, value = CrawlDatum(status=PartStatus.INJECTED, score=3.0), 1.0
for name, scoring in chain("scoring", config):
    if hasattr(scoring, "injected"):
        datum = scoring.injected(url, datum)
    value = scoring.sort_value(url, datum, value)
print(value, dict(datum.extra), scoring.columns[0].merge)
"""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "12.0 {'words_found': 2} max\n"
