"""docs/nutch-counterparts.md is up to date, complete, and names only what exists."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run, run

from scoter.cli.counterparts import page
from scoter.cli.main import MODULES, load_command
from scoter.config.sections import SECTIONS, fields
from scoter.nutch.commands.usage import CLASSES
from scoter.nutch.settings.names import EXTENSION_POINTS, PLUGINS
from scoter.plugins import POINTS, installed

__all__ = ["run"]

ROOT = Path(__file__).parents[2]
NAMES = ROOT / "tests" / "nutch" / "data"
PAGE = (ROOT / "docs" / "nutch-counterparts.md").read_text("utf-8")
PLUGIN_NAMES = {plugin.full_name for plugin in installed()}


def rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def items(title: str) -> list[tuple[str, str]]:
    """Return the items of a section's list: the name, and what is said about it."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    joined = re.sub(r"\n {2}", " ", section)
    return re.findall(r"^- `([^`]+)`(?: \(`[^`]*`\))?: (.+)$", joined, re.MULTILINE)


def names_in(file: str) -> list[str]:
    return [line.partition("\t")[0] for line in (NAMES / file).read_text("utf-8").splitlines() if line]


def test_page_is_what_make_docs_writes() -> None:
    assert page(NAMES) == PAGE, "run make docs"


def test_every_command_plugin_point_and_property_of_nutch_has_a_row() -> None:
    commands = ["bin/crawl" if name == "crawl" else f"nutch {name}" for name in names_in("nutch-commands.txt")]
    properties = {*names_in("nutch-properties.tsv"), *names_in("nutch-other-names.txt")}

    assert [row[0].strip("`") for row in rows("Commands")] == commands
    assert [name for name, _ in items("Plug-ins")] == names_in("nutch-plugins.txt")
    assert properties <= {name for name, _ in items("Properties")}
    assert {row[1].strip("`") for row in rows("Extension points")} == POINTS.keys() == set(EXTENSION_POINTS.values())


def test_plugins_that_an_import_knows_are_on_the_page() -> None:
    old_names = {"urlfilter-domainblacklist", "parse-feed"}

    assert PLUGINS.keys() - set(names_in("nutch-plugins.txt")) == old_names


def test_page_names_only_commands_and_options_that_exist() -> None:
    named = re.findall(r"`scoter ([a-z-]+)((?: [^`]*)?)`", PAGE)

    assert len(named) > 40
    for command, rest in named:
        assert command in MODULES, command
        options = {each for parameter in load_command(command).params for each in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, rest


def test_page_names_only_plugins_that_exist() -> None:
    named = {name for _, told in items("Plug-ins") for name in re.findall(r"`([a-z]+-[a-z0-9-]+)`", told)}
    tables = set(re.findall(r"\[plugin\.([a-z0-9-]+)\]", PAGE))

    assert len(named) > 50
    assert named | tables <= PLUGIN_NAMES


def test_page_names_only_settings_that_exist() -> None:
    told = [row[2] for row in rows("Commands")]
    told += [text for _, text in (*items("Properties"), *items("Plug-ins"))]
    pattern = re.compile(rf"(?<![\w.])((?:{'|'.join(SECTIONS)})\.[a-z0-9_]+)")

    named = {name for cell in told for name in pattern.findall(cell)}

    assert len(named) > 200
    assert named <= fields().keys()


def test_every_row_has_a_counterpart_or_a_reason() -> None:
    for row in rows("Commands"):
        assert row[1] != "none" or row[2] != "–", row
    for name, told in items("Plug-ins"):
        assert told.startswith("`") or len(told) > len("none. "), name
    for name, told in items("Properties"):
        assert told.startswith("`") or len(told) > len("none: "), name


def test_every_class_that_nutch_runs_by_name_has_modules() -> None:
    told = {name for row in rows("Classes") for name in re.findall(r"`([^`]+)`", row[0])}
    without_modules = {"DedupRedirectsJob"}  # as the table of commands says

    assert CLASSES.keys() - without_modules <= told


@pytest.mark.parametrize("file", ["nutch-commands.txt", "nutch-plugins.txt", "nutch-other-names.txt"])
def test_name_without_an_explanation_is_an_error(tmp_path: Path, file: str) -> None:
    shutil.copytree(NAMES, tmp_path / "names")
    with (tmp_path / "names" / file).open("a") as opened:
        opened.write("zzz\n")

    with pytest.raises(ValueError, match=r"nothing is known about the (command|plug-in|property) zzz"):
        page(tmp_path / "names")


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("showproperties", "there is no command 'showproperties' as in Nutch; use scoter config show\n"),
        ("robotsparser", "there is no command 'robotsparser' as in Nutch; use scoter robotschecker\n"),
        ("junit", "there is no command 'junit' as in Nutch: the tests are run with make test\n"),
        ("readbd", "there is no command 'readbd'; did you mean 'readdb'?\n"),
    ],
)
def test_command_of_nutch_with_another_name_is_answered_with_its_counterpart(
    run: Run, command: str, answer: str
) -> None:
    done = run(command)

    assert done.code == 2
    assert done.err.startswith(f"scoter: {answer}")
