"""The systemd units: valid, hardened, and their command lines start, stop and crawl."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.deploy.containers import ENTRYPOINT, PORT, ROOT, URLS, Container, on_a_synthetic_web, running, wait_for

from scoter.simweb import SimServer

UNITS = ROOT / "deploy" / "systemd"
PROGRAM = "/opt/scoter/bin/scoter"
NAMES = sorted(each.name for each in UNITS.glob("*.*") if each.is_file())
SERVICES = [name for name in NAMES if name.endswith(".service")]
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def unit(name: str) -> list[tuple[str, str]]:
    """Return the settings of a unit and of the drop-in for all of them, in their order."""
    files = [UNITS / name, UNITS / "scoter-.service.d" / "hardening.conf"] if name in SERVICES else [UNITS / name]
    return [match for file in files for match in re.findall(r"^(\w+)=(.*)$", file.read_text(), re.MULTILINE)]


def steps_in_docs(target: str) -> list[str]:
    """Return the commands in docs/operations.md that write to a path."""
    found = re.findall(rf"^\$ (.*{target}.*)$", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    assert found
    return found


def command_of(name: str) -> list[str]:
    """Return the arguments of a unit's program."""
    program, *arguments = dict(unit(name))["ExecStart"].split()
    assert program == PROGRAM
    return arguments


def process(command: list[str], folder: Path, web: SimServer) -> Container:
    """Return a unit as a process, with the paths of its command below a folder."""
    return Container(command, on_a_synthetic_web(web.port), {"%S": folder, "/etc/scoter": folder / "etc"}, folder)


@pytest.fixture
def installed(folder: Path) -> Path:
    """A folder with the files of /etc/scoter and the units' directories."""
    for step in steps_in_docs("/etc/scoter"):
        subprocess.run(["sh", "-euc", step.replace("/etc/scoter", str(folder / "etc"))], check=True)
    assert (folder / "etc" / "seeds.txt").read_text() == "https://example.org/\n"
    (folder / "etc" / "seeds.txt").write_text("".join(f"{url}\n" for url in URLS))
    for name in SERVICES:
        (folder / dict(unit(name))["StateDirectory"]).mkdir(parents=True, exist_ok=True)
    return folder


@needs_systemd
@pytest.mark.parametrize("name", NAMES)
def test_unit_is_valid(name: str, tmp_path: Path) -> None:
    found = analyze("verify", "--man=no", name, units=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_service_is_hardened(name: str, tmp_path: Path) -> None:
    found = analyze("security", "--offline=true", "--threshold=20", "--no-pager", name, units=tmp_path)
    assert found.returncode == 0, found.stdout


def analyze(*words: str, units: Path) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze on a copy of the units whose program exists here."""
    (copy,) = (step.partition(" && ")[0] for step in steps_in_docs("/etc/systemd/system"))
    subprocess.run(["sh", "-euc", copy.replace("/etc/systemd/system", str(units))], cwd=ROOT, check=True)
    for service in SERVICES:
        (units / service).write_text((units / service).read_text().replace(PROGRAM, ENTRYPOINT[0]))
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"}
    return subprocess.run(
        ["systemd-analyze", *words], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", SERVICES)
def test_service_writes_only_to_its_directory(name: str) -> None:
    settings = dict(unit(name))
    assert (settings["DynamicUser"], settings["ProtectSystem"]) == ("yes", "strict")
    paths = [word for word in settings["ExecStart"].split() if word.startswith("%S/")]
    assert all(path.removeprefix("%S/").startswith(settings["StateDirectory"]) for path in paths), paths
    assert paths


def test_timer_starts_the_crawl() -> None:
    assert (UNITS / "scoter-crawl.service").exists()
    assert {"OnCalendar", "Persistent"} <= set(dict(unit("scoter-crawl.timer")))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "target"), [("scoter-live.service", "/readyz"), ("scoter-ui.service", "/v1/crawls")])
def test_server_starts_and_stops_in_time(name: str, target: str, installed: Path, web: SimServer) -> None:
    server = process([*command_of(name), "--port", PORT], installed, web)
    with running([server]):
        assert wait_for(lambda: server.ask("GET", target), "no answer")[0] == 200
        server.stop(float(dict(unit(name))["TimeoutStopSec"]))


@pytest.mark.slow
def test_nightly_crawl_goes_on_each_night(installed: Path, web: SimServer) -> None:
    crawl = process([], installed, web)
    command = [*command_of("scoter-crawl.service"), "--rounds", "1"]
    crawl.run(*command)
    first = fetched(crawl)
    crawl.run(*command)
    assert fetched(crawl) > first > 0


def fetched(crawl: Container) -> int:
    query = "select count(*) from crawldb where status = 'fetched'"
    return int(crawl.run("sql", "%S/scoter/crawls/nightly", query, "--csv").split()[-1])
