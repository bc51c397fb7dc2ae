"""The documentation is correct: commands print what it shows, tables are complete, links lead somewhere."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from tests.cli.conftest import run_in_process

from scoter.cli.main import MODULES
from scoter.plugins import POINTS, installed

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")])
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
EXAMPLES = {"nutch-import.md": "nutch-crawl", "hosts.md": "nutch-crawl"}
"""Examples that the commands of a page use."""
# Commands that set up environments, serve until interrupted, or run this test.
NOT_RUN = ("make ", "pip ", "scoter simweb", "scoter search-server", "nginx ", "curl ", "git ")


def sessions() -> list[tuple[str, list[tuple[str, str]]]]:
    found = []
    for page in PAGES:
        if page.parent.parent.name == "examples":
            continue  # its package is not installed here; tests/test_example.py runs it
        blocks = [EXAMPLE.findall(block) for block in BLOCK.findall(page.read_text("utf-8"))]
        commands = [each for block in blocks for each in block if not each[0].startswith(NOT_RUN)]
        if commands:
            found.append((page.name, commands))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("page", "commands"), sessions(), ids=[name for name, _ in sessions()])
def test_commands_in_docs_print_what_the_page_shows(page: str, commands: list[tuple[str, str]], tmp_path: Path) -> None:
    if page in EXAMPLES:
        shutil.copytree(ROOT / "examples" / EXAMPLES[page], tmp_path / EXAMPLES[page])
    for command, expected in commands:
        # Starting a process takes longer than most commands; one page is run as its readers do.
        is_plain = command.startswith("scoter ") and not set(command) & set("|&;$`<") and page != "checkers.md"
        shown = _run_here(command, tmp_path) if is_plain else _run_in_shell(command, tmp_path)
        assert shown == expected, command


def _run_here(command: str, folder: Path) -> str:
    with mock.patch("scoter.cli.output._LOG_INTERVAL", 3600.0):  # no progress on a slow machine
        done = run_in_process(folder, *shlex.split(command)[1:])
    assert not (done.out and done.err), "the order of the two streams is unknown"
    return done.out + done.err


def _run_in_shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"},
        check=False,
        timeout=200,
    )
    return re.sub(r"(?m)^.*[█░]{20}.*\n|^round \d+/\d+  .*\n", "", done.stdout)  # progress on a slow machine


def test_docs_have_executed_commands() -> None:
    assert len(dict(sessions())["checkers.md"]) >= 7
    assert sum(len(commands) for _, commands in sessions()) >= 60


def test_links_in_docs_lead_to_files() -> None:
    broken = [
        (page.name, target)
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]

    assert broken == []


def test_anchors_in_docs_exist() -> None:
    headings = {page: {*_anchors(page.read_text("utf-8"))} for page in PAGES}
    broken = [
        (page.name, target, anchor)
        for page in PAGES
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", _prose(page.read_text("utf-8")))
        if anchor not in headings[(page.parent / target).resolve() if target else page]
    ]

    assert broken == []


def _prose(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def _anchors(text: str) -> Iterator[str]:
    """Yield the anchors that GitHub gives the headings of a page."""
    for heading in re.findall(r"^#+ (.+)$", _prose(text), re.MULTILINE):
        plain = re.sub(r"\]\([^)]*\)", "]", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def test_every_extension_point_is_documented() -> None:
    text = (ROOT / "docs" / "plugins.md").read_text("utf-8")

    for point in POINTS.values():
        assert f"| `{point.name}` | `{point.chain}` | {point.sentence} |" in text


def test_every_built_in_filter_and_normaliser_is_documented() -> None:
    text = (ROOT / "docs" / "url-rules.md").read_text("utf-8")

    for plugin in installed():
        if plugin.package == "scoter" and plugin.point.name in ("urlfilter", "urlnormalizer", "urlexemption"):
            assert re.search(rf"\b{plugin.name}\b", text), plugin.full_name


def test_every_scoring_filter_is_documented() -> None:
    text = (ROOT / "docs" / "scoring.md").read_text("utf-8")

    for plugin in installed():
        if plugin.package == "scoter" and plugin.point.name == "scoring":
            assert f"\n- `{plugin.name}`: " in text, plugin.full_name


def test_every_package_is_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    source = ROOT / "src" / "scoter"
    packages = {f"`{init.parent.relative_to(source)}/`" for init in source.rglob("*/__init__.py")}

    assert {name for name in packages if name not in text} == set()


def test_packages_on_one_line_of_the_architecture_do_not_import_each_other() -> None:
    drawing = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1]
    lines = [re.findall(r"\w+", line[:56]) for line in drawing.splitlines() if re.match(r" +\w", line)]
    layers = [set(line) for line in lines if line[0] != "simweb"]
    source = ROOT / "src" / "scoter"

    assert {each.stem for each in source.glob("[!_]*") if each.stem != "simweb"} - {"py"} <= set().union(*layers)
    for number, layer in enumerate(layers):
        allowed = set().union(*layers[number + 1 :])
        for name in layer:
            files = [*source.glob(f"{name}.py"), *source.glob(f"{name}/**/*.py")]
            text = "".join(file.read_text("utf-8") for file in files)
            imported = set(re.findall(r"^ *from scoter\.(\w+)", text, re.MULTILINE)) - {name, "simweb"}
            assert imported <= allowed, f"{name} imports {imported - allowed}"


DENIAL = re.compile(
    r"\b(there (is|are) no|(has|have|with) no|no [\w ,]+ yet|not yet|not (supported|implemented))\b", re.IGNORECASE
)


def test_no_page_says_that_an_existing_command_is_missing() -> None:
    false = []
    for page in PAGES:
        prose = _prose(page.read_text("utf-8"))
        for sentence in re.split(r"(?<=[.;:|])\s|\n\n|\n- ", prose):
            denied = DENIAL.search(sentence)
            clause = re.split(r"[,;:(]", sentence[denied.start() :])[0] if denied else ""
            words = set(re.findall(r"[a-z-]+", clause.lower()))
            if words & MODULES.keys():
                false.append(f"{page.name}: {sentence.strip()}")

    assert false == []


def test_pages_state_the_number_of_extension_points() -> None:
    words = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen")
    numbers = {word: number for number, word in enumerate(words, 13)}
    stated = [
        (page.name, numbers.get(word, word))
        for page in PAGES
        for word in re.findall(r"(\w+) extension points", page.read_text("utf-8"))
        if word in numbers or word.isdecimal()
    ]

    assert len(stated) >= 3
    assert {number for _, number in stated} == {len(POINTS)}, stated


def test_package_docstrings_list_their_modules() -> None:
    for init in (ROOT / "src" / "scoter").rglob("__init__.py"):
        modules = {each.stem for each in init.parent.glob("[!_]*.py")}
        packages = {f"{each.parent.name}/" for each in init.parent.glob("*/__init__.py")}
        docstring = ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""

        assert modules | packages <= set(re.findall(r"^- ``([\w/]+)`` ", docstring, re.MULTILINE)), init


def test_every_dependency_and_extra_is_documented() -> None:
    text = (ROOT / "docs" / "installation.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [*(re.split(r"[^\w-]", each)[0] for each in project["dependencies"]), *project["optional-dependencies"]]
    rows = "".join(re.findall(r"^\|(.*?)\|", text, re.MULTILINE))

    assert [name for name in names if f"`{name}`" not in rows] == []


def test_every_command_is_documented() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)

    for name in MODULES:
        assert f"scoter {name}" in text


def test_python_example_runs(tmp_path: Path) -> None:
    from scoter.simweb import WebSpec, running

    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    with running(WebSpec(hosts=2, pages=4)) as web:
        first, *_ = web.web.seeds()
        code = re.sub(r"urls = \[.*\]", f"urls = [{first!r}, 'http://nowhere.invalid.test/']", code)
        connect = f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]'
        code = code.replace('"fetch.delay=2s"', f"'fetch.delay=0', {connect!r}")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=200)

    assert f"200 {first} " in done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_tests_named_in_docs_exist() -> None:
    missing = []
    for page in PAGES:
        for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text("utf-8")):
            file = ROOT / path
            if not file.exists() or (name and f"def {name}(" not in file.read_text("utf-8")):
                missing.append((page.name, path, name))

    assert missing == []


def _items(page: str) -> list[str]:
    """Return the items of all lists of a page, each as one line."""
    text = re.sub(r"\n {2,}(?=\S)", " ", _prose((ROOT / "docs" / page).read_text("utf-8")))
    return re.findall(r"^- (.+)$", text, re.MULTILINE)


def test_every_guarantee_names_a_test() -> None:
    guarantees = _items("guarantees.md")

    assert len(guarantees) > 30
    for guarantee in guarantees:
        assert "`tests/" in guarantee.partition(" Tests: ")[2], guarantee


def test_documented_metrics_match_the_service(tmp_path: Path) -> None:
    from tests.live.service.running import service

    pattern = re.compile(r"(`scoter_\w+`(?:, `scoter_\w+`)*)(?: \(([^)]*)\))?: ")
    rows = [match.groups(default="") for item in _items("operations.md") if (match := pattern.match(item))]
    told = {
        name: set(re.findall(r"`(\w+)`", labels)) for names, labels in rows for name in re.findall(r"`(\w+)`", names)
    }

    with service(tmp_path / "live", 9) as running:
        # A fetcher's own metrics appear with its first report.
        running.wait_for(lambda: b"scoter_fetcher_shards{" in running.get("/metrics").body)
        shown = running.get("/metrics").body.decode()

    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", shown, re.MULTILINE))
    assert kinds.keys() == told.keys()
    for name in (name for name, kind in kinds.items() if kind == "gauge"):
        found = re.findall(rf'^{name}{{(\w+)="([^"]*)"}}', shown, re.MULTILINE)
        assert {word for each in found for word in each if not word.isdecimal()} == told[name], name


def test_settings_named_in_operations_exist() -> None:
    from scoter.config import Config

    text = (ROOT / "docs" / "operations.md").read_text("utf-8")
    sections = ("live", "web", "fetch", "http", "store", "agent")
    for section, name in re.findall(rf"`({'|'.join(sections)})\.(\w+)`", text):
        assert hasattr(getattr(Config(), section), name), f"{section}.{name}"


def test_index_links_to_every_page() -> None:
    listed = re.findall(r"^- .*$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE)
    linked = re.findall(r"\]\(([\w-]+\.md)\)", "\n".join(listed))

    assert sorted(linked) == sorted({*linked}), "a page is listed twice"
    assert {*linked} == {page.name for page in ROOT.glob("docs/*.md")} - {"index.md"}


def test_modules_named_in_the_counterparts_exist() -> None:
    for page in ("spiderduck-counterparts.md", "nutch-counterparts.md"):
        text = (ROOT / "docs" / page).read_text("utf-8")
        modules = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:/|\.py))`", text)

        assert len(modules) > 40, page
        assert [each for each in modules if not (ROOT / "src" / "scoter" / each).exists()] == [], page


def test_site_has_every_page_in_its_navigation_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r": ([\w-]+\.md)$", navigation, re.MULTILINE)

    assert sorted(listed) == sorted({*listed})
    assert {page.name for page in ROOT.glob("docs/*.md")} <= {*listed}
    assert {page.name for page in ROOT.glob("*.md")} - {*listed} == {"README.md"}


def test_every_page_begins_with_a_command() -> None:
    for page in ROOT.glob("docs/*.md"):
        opening = page.read_text("utf-8").partition("\n## ")[0]
        blocks = re.findall(r"^```.*?^```", opening, re.MULTILINE | re.DOTALL)

        assert re.search(r"^(?:\$ )?(?:scoter|make|curl|python3?|mkdir|import) ", "\n".join(blocks), re.MULTILINE), (
            page.name
        )


def test_lines_of_markdown_have_at_most_120_characters() -> None:
    """Except for code blocks, and for lines that only a long URL makes longer."""
    long = [
        f"{page.name}: {line[:60]}"
        for page in PAGES
        for line in _prose(page.read_text("utf-8")).splitlines()
        if len(re.sub(r"https?://[^\s)]+", "", line)) > 120
    ]

    assert long == []
