from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import run_in_process

from scoter.cli.completion import SHELLS, complete
from scoter.cli.invocation import Invocation
from scoter.cli.main import MODULES, scoter


def answers(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what bash gets when Tab is pressed at the end of a line."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert complete("bash_complete", scoter, Invocation()) == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("scoter cra", ["plain,crawl", "plain,crawlcomplete"]),
        ("scoter --json cra", ["plain,crawl", "plain,crawlcomplete"]),
        ("scoter config ", ["plain,import-nutch", "plain,show"]),
        ("scoter crawl --sco", ["plain,--scope"]),
        ("scoter crawl mycrawl --scope ", ["plain,host", "plain,domain", "plain,any"]),
        ("scoter crawl my", ["file,my"]),
        ("scoter crawl --nosuch", []),
        ("scoter nosuch", []),
    ],
)
def test_completions(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answers(line, monkeypatch, capsys) == expected


def test_names_of_commands_are_completed_without_importing_them() -> None:
    code = (
        "import sys; from scoter.cli.main import main\n"
        "try: main()\n"
        "finally: print([n for n in sys.modules if n in ('scoter.cli.crawl', 'scoter.cli.serve', 'scoter.config')])"
    )
    env = {**os.environ, "_SCOTER_COMPLETE": "bash_complete", "COMP_WORDS": "scoter ", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)

    *names, imported = done.stdout.splitlines()
    assert names == [f"plain,{name}" for name in MODULES]
    assert imported == "[]"


@pytest.mark.parametrize("shell", SHELLS)
def test_script_asks_scoter_itself(shell: str, tmp_path: Path) -> None:
    done = run_in_process(tmp_path, "completion", shell)

    assert done.code == 0
    assert f"_SCOTER_COMPLETE={shell}_complete" in done.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "mycrawl").mkdir()
    (tmp_path / "scoter").symlink_to(Path(sys.executable).parent / "scoter")
    script = (
        "source <(scoter completion bash)\n"
        'press() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _scoter_completion scoter\n'
        'echo "${COMPREPLY[*]}"; }\n'
        "press scoter cra\npress scoter crawl --sco\ncomplete -p scoter | grep -o _scoter_completion\n"
    )
    env = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["crawl crawlcomplete", "--scope", "_scoter_completion"]


def test_unknown_instruction_is_refused() -> None:
    assert complete("tcsh_complete", scoter, Invocation()) == 1
    assert complete("bash_source", scoter, Invocation()) == 1
