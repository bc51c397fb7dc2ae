"""The `scoter` command: help, start-up, common options, errors and exit codes."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.cli.conftest import Run

from scoter.cli.invocation import Invocation
from scoter.cli.main import COMMANDS, MODULES, load_command, scoter
from scoter.cli.main import run as run_command


def commands_below(name: str, command: click.Command) -> list[tuple[str, click.Command]]:
    below = getattr(command, "commands", {})
    if not below:
        return [(name, command)]
    return [leaf for each, found in below.items() for leaf in commands_below(f"{name} {each}", found)]


LEAVES = [leaf for name in MODULES for leaf in commands_below(name, load_command(name))]


@pytest.mark.parametrize(("name", "command"), LEAVES, ids=[name for name, _ in LEAVES])
def test_every_command_help_has_a_sentence_and_an_example(name: str, command: click.Command) -> None:
    text = command.help or ""

    assert text.splitlines()[0].endswith(".")
    assert "Example:" in text
    assert f"scoter {name}" in text


def test_command_table_matches_command_help() -> None:
    for name, (_, sentence) in MODULES.items():
        assert (load_command(name).help or "").splitlines()[0] == sentence, name


def test_help_lists_every_command_under_its_heading(run: Run) -> None:
    shown = run("--help")

    assert shown.code == 0
    for heading, commands in COMMANDS.items():
        assert f"{heading}:" in shown.out
        assert all(f"  {name} " in shown.out for name in commands)


def test_help_takes_little_cpu_time() -> None:
    # A busy machine makes single runs slower, never faster.
    assert any(_cpu_time_of_help() < 0.3 for _ in range(10))


def _cpu_time_of_help() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "scoter.cli.main", "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_python_dash_m_scoter_runs_the_command() -> None:
    told = subprocess.run([sys.executable, "-m", "scoter", "crawl"], capture_output=True, text=True, check=False)

    assert told.returncode == 2
    assert "scoter: Missing argument 'DIR'" in told.stderr


def test_command_line_imports_no_heavy_module() -> None:
    code = "import sys, scoter.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    heavy = {"numpy", "re2", "regex", "rich", "publicsuffixlist", "ada_url", "asyncio", "uvloop", "difflib", "html"}
    assert not (heavy | {"ssl", "email", "http.client", "importlib.metadata"}) & set(loaded)


def test_showing_the_configuration_imports_no_engine_and_no_tables(tmp_path: Path) -> None:
    code = (
        "import sys; from scoter.cli.main import run; from scoter.cli.invocation import Invocation;"
        "run(['config', 'show'], Invocation()); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert not {"numpy", "pyarrow", "duckdb", "ibis"} & set(done.stdout.split())


@pytest.mark.parametrize("before", [True, False])
def test_common_options_work_before_and_after_the_command(run: Run, before: bool) -> None:
    options = ["-D", "fetch.delay=2s", "--json"]
    shown = run(*options, "config", "show") if before else run("config", "show", *options)

    assert shown.code == 0
    assert '"name":"fetch.delay","value":"\\"2s\\"","origin":"-D fetch.delay"' in shown.out


def test_options_before_and_after_are_combined_and_the_last_wins(run: Run) -> None:
    shown = run("-D", "fetch.delay=2s", "-D", "fetch.threads=7", "config", "show", "-D", "fetch.delay=3s")

    assert 'delay = "3s"  # -D fetch.delay' in shown.out
    assert "threads = 7  # -D fetch.threads" in shown.out


def test_settings_file_in_the_working_directory_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scoter.toml").write_text('[agent]\nname = "gullbot"\n')

    assert 'name = "gullbot"  # scoter.toml:2' in run("config", "show").out


MISTAKES: list[tuple[list[str], str]] = [
    (["no-such-command"], "there is no command 'no-such-command'"),
    (["confg"], "did you mean 'config'?"),
    (["--no-such-option"], "--no-such-option"),
    (["config", "show", "--no-such-option"], "--no-such-option"),
    (["config", "shwo"], "shwo"),
    (["config", "show", "-c", "missing.toml"], "missing.toml"),
    (["config", "show", "-c", "broken.toml"], "broken.toml"),
    (["config", "show", "-c", "."], "."),
    (["config", "show", "-D", "fetch.dealy=1"], "did you mean fetch.delay?"),
    (["config", "show", "-D", "fetch.delay=fast"], "fetch.delay"),
    (["config", "show", "-D", "nonsense"], "nonsense"),
    (["config", "show", "-D", "plugin.urlfilter-nope.x=1"], "is not a plug-in"),
    (["config", "import-nutch", "missing.xml"], "missing.xml: cannot be read: No such file or directory"),
    (["config", "import-nutch", "broken.toml"], "broken.toml"),
    (["plugin", "run", "nope"], "'nope' is not a plug-in"),
    (["plugin", "run", "urlfilter-nope"], "'nope' is not a urlfilter plug-in"),
    (["plugin", "run", "urlfilter-validator"], "has no command"),
    (["plugin", "list", "--point", "urlfiltre"], "did you mean 'urlfilter'?"),
    (["filterchecker", "-D", 'urlfilter.filters=["nope"]', "http://a.test/"], "'nope' is not a urlfilter plug-in"),
    (
        ["filterchecker", "-D", "urlfilter.filters=regex", "-D", "urlfilter.regex_file=rules.txt", "http://a.test/"],
        "rules.txt:2",
    ),
    (
        ["filterchecker", "-D", "urlfilter.filters=regex", "-D", "urlfilter.regex_file=none.txt", "http://a.test/"],
        "none.txt",
    ),
    (["filterchecker", "-D", "urlfilter.filters=prefix", "http://a.test/"], "urlfilter.prefix_file"),
    (["normalizerchecker", "--scope", "nope", "http://a.test/"], "nope"),
    (["robotschecker", "missing.txt", "http://a.test/"], "missing.txt: cannot be read"),
    (["robotschecker"], "robots"),
    (["simweb", "--pages", "many"], "many"),
    (["simweb", "--port", "0", "-c", "missing.toml"], "missing.toml"),
    (["simweb", "--port", "0", "-D", "fetch.dealy=2"], "did you mean fetch.delay?"),
    (["plugin", "list", "--points", "-c", "broken.toml"], "broken.toml"),
    (
        ["filterchecker", "-D", "plugin.urlfilter-validater.longest=3", "http://a.test/"],
        "did you mean urlfilter-validator?",
    ),
    (["filterchecker", "-D", "agent.name=a/b c", "http://a.test/"], "a word without spaces and slashes"),
    (["plugin", "run", "scoring-depth", "-D", "scoring.depth_override_pattern=("], "scoring.depth_override_pattern"),
    (["simweb", "--pages", "0"], "pages=0"),
    (["simweb", "--port", "99999"], "99999"),
    (["simweb", "--write", "/proc/nope"], "/proc/nope"),
]


@pytest.mark.parametrize(("arguments", "expected"), MISTAKES, ids=[" ".join(each) for each, _ in MISTAKES])
def test_usage_error_prints_one_message_and_exits_with_2(
    run: Run, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    (tmp_path / "broken.toml").write_text("[fetch\n")
    (tmp_path / "rules.txt").write_text("+ok\nnonsense\n")

    ended = run(*arguments)

    assert ended.code == 2
    assert expected in ended.err
    assert ended.err.startswith("scoter: ")
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_debug_shows_the_traceback(run: Run) -> None:
    ended = run("config", "show", "-c", "missing.toml", "--debug")

    assert ended.code == 2
    assert "Traceback" in ended.err
    assert "scoter: missing.toml" in ended.err


def test_bug_is_reported_with_exit_code_70(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(self: Invocation) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Invocation, "loaded", broken)

    assert run_command(["config", "show"], Invocation()) == 70
    assert "a bug in Scoter: ZeroDivisionError: oops" in capsys.readouterr().err


def test_version_is_the_package_version() -> None:
    from scoter import __version__

    assert scoter.name == "scoter"
    done = subprocess.run(
        [sys.executable, "-m", "scoter.cli.main", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"scoter {__version__}\n"


@pytest.mark.parametrize("command", ["config show --defaults | true", "config show --defaults | head -1"])
def test_reader_that_closes_the_pipe_is_not_an_error(tmp_path: Path, command: str) -> None:
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m scoter.cli.main {command}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 0
    assert done.stderr == ""


def test_broken_internal_pipe_is_reported_as_a_bug(tmp_path: Path) -> None:
    fails = (
        "from scoter.cli import main\n"
        "def fail(context): raise BrokenPipeError(32, 'Broken pipe')\n"
        "main.scoter.invoke = fail\n"
        "main.main(['config', 'show'])\n"
    )

    done = subprocess.run([sys.executable, "-c", fails], capture_output=True, text=True, cwd=tmp_path, check=False)

    assert done.returncode == 70
    assert "this is a bug in Scoter: BrokenPipeError" in done.stderr


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("filterchecker <&-", "no URLs given"),
        ("crawl mycrawl - --agent examplebot <&-", "standard input is closed"),
        ("filterchecker http://a.test/ >&-", "must be open"),
        ("config show > /dev/full", "No space left on device"),
    ],
)
def test_closed_and_full_standard_streams_are_reported(tmp_path: Path, command: str, expected: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m scoter.cli.main {command}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("listener", ["2> /dev/full", "2> >(true)"])
@pytest.mark.parametrize(("command", "code"), [("inject mycrawl seeds.txt", 0), ("generate nowhere", 2)])
def test_unwritable_stderr_does_not_end_a_command(tmp_path: Path, command: str, listener: str, code: int) -> None:
    (tmp_path / "seeds.txt").write_text("nonsense\nhttp://a.test/\n")

    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m scoter.cli.main {command} {listener}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    assert done.returncode == code
    assert done.stdout == ("1 new, 1 not URLs\n" if code == 0 else "")


def test_limited_locale_affects_tables_but_not_json(run_process: Run) -> None:
    shown = run_process("plugin", "list", PYTHONIOENCODING="ascii")
    told = run_process("normalizerchecker", "--json", "é", PYTHONIOENCODING="latin-1")

    assert (shown.code, told.code) == (0, 0)
    assert "??????" in shown.out.splitlines()[1]
    assert '"given":"é"' in told.out


def test_help_is_shown_without_a_command(run: Run) -> None:
    assert run().out == run("--help").out


def test_argument_that_is_not_utf_8_is_accepted(run: Run) -> None:
    shown = run("--json", "filterchecker", b"http://a.test/\xff".decode("utf-8", "surrogateescape"))

    assert shown.code == 0
    assert '"url":"http://a.test/%EF%BF%BD"' in shown.out
