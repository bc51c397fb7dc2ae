"""Checks of this installation, and of the machine: versions, packages, clock, limits, names."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import socket
import sys
import threading
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

import scoter
from scoter.cli.diagnosis.findings import Findings
from scoter.config import Config
from scoter.core.display import size

_OLDEST_PYTHON: Final = (3, 11)
_FILES: Final = 4_096  # open files that the processes of a service and large crawls need
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_WITHIN: Final = 10.0  # seconds for the resolver
_INODES: Final = 10_000
_MOST_FILES: Final = 1_000_000


def check_installation(findings: Findings, config: Config, *, host: str) -> None:
    """Check this installation, with the settings that it has here; ``host`` is a name to resolve."""
    _check_versions(findings)
    _check_packages(findings)
    _check_native(findings)
    if config.agent.name:
        findings.ok("settings", f"requests are made by {config.agent.name}")
    else:
        findings.advise(
            "settings", "no agent.name", "Set agent.name, which names you to the sites that you fetch from."
        )
    check_clock(findings, datetime.now(UTC))
    _check_files(findings)
    _check_resolver(findings, host)


def _check_versions(findings: Findings) -> None:
    found = f"Scoter {scoter.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.version_info < _OLDEST_PYTHON:
        findings.fault("versions", found, "Install Scoter in Python 3.11 or newer.")
    else:
        findings.ok("versions", found)


def _check_packages(findings: Findings) -> None:
    """Check that the packages that Scoter needs are installed: another installer may have removed one."""
    try:
        # Of packages with a marker, such as python_version < "3.14", Scoter can do without.
        needed = [found[0] for each in requires("scoter") or () if ";" not in each and (found := _NAME.match(each))]
    except PackageNotFoundError:
        findings.advise("packages", "Scoter runs from its sources, without an installation", "Install it with pip.")
        return
    missing = []
    for name in needed:
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        findings.fault("packages", f"not installed: {', '.join(missing)}", "Install Scoter again, with pip.")
    else:
        findings.ok("packages", f"all {len(needed)} packages are installed")


def _check_native(findings: Findings) -> None:
    found = sorted(Path(scoter.__file__).parent.rglob("_*.abi3.so"))
    if found:
        findings.ok("native code", f"{len(found)} modules")
    else:
        findings.advise(
            "native code",
            "none: reading pages takes longer",
            "Install a C compiler, then Scoter again from its sources.",
        )


def check_clock(findings: Findings, now: datetime) -> None:
    """Check that it is not before Scoter was installed."""
    installed = datetime.fromtimestamp(Path(scoter.__file__).stat().st_mtime, UTC)
    if now < installed:
        found = f"it is {now:%Y-%m-%d %H:%M}, before Scoter was installed ({installed:%Y-%m-%d %H:%M})"
        findings.fault("clock", found, "Set the clock, for example with NTP: schedules and leases depend on it.")
    else:
        findings.ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _check_files(findings: Findings) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else sys.maxsize
    # Scoter raises the soft limit by itself.
    if most < _FILES:
        remedy = f"Allow {_FILES:,}: ulimit -n, LimitNOFILE= in a systemd unit, --ulimit nofile= of a container."
        findings.fault("open files", f"at most {most:,}", remedy)
    else:
        findings.ok("open files", f"{soft:,}, at most {'unlimited' if most == sys.maxsize else f'{most:,}'}")


def _check_resolver(findings: Findings, host: str) -> None:
    answers: list[str] = []

    def resolve() -> None:
        try:
            answers.extend(sorted({str(each[4][0]) for each in socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)}))
        except (OSError, UnicodeError) as error:
            answers.append(f"!{error}")

    # The resolver of the system may try for a minute.
    thread = threading.Thread(target=resolve, daemon=True)
    thread.start()
    thread.join(_WITHIN)
    if answers and not answers[0].startswith("!"):
        findings.ok("DNS", f"{host} is {answers[0]}")
        return
    why = answers[0][1:] if answers else f"no answer within {_WITHIN:.0f} s"
    findings.fault(
        "DNS", f"cannot resolve {host}: {why}", "Check /etc/resolv.conf and the network; --host checks another name."
    )


def check_disk(findings: Findings, folder: Path, floor: int) -> None:
    """Check the free space on the disk of a folder."""
    try:
        free, state = shutil.disk_usage(folder).free, os.statvfs(folder)
    except OSError as error:
        findings.fault("disk", f"{folder}: {error.strerror}", "Check the disk and its mount.")
        return
    if free < floor:
        findings.fault("disk", f"{size(free)} free; store.disk_floor requires {size(floor)}", "Make room on the disk.")
    elif state.f_files and state.f_favail < _INODES:
        findings.fault("disk", f"room for {state.f_favail:,} more files only", "Remove files, or use another disk.")
    elif free < 2 * floor:
        findings.advise("disk", f"{size(free)} free, near store.disk_floor ({size(floor)})", "Make room on the disk.")
    else:
        findings.ok("disk", f"{size(free)} free")


def check_access(findings: Findings, folder: Path) -> None:
    """Check that this user may read the files below a folder, and write to its folders."""
    refused: list[str] = []
    looked = 0

    def refuse(error: OSError) -> None:
        refused.append(str(error.filename))

    for place, _, files in os.walk(folder, onerror=refuse):
        if not os.access(place, os.W_OK | os.X_OK):
            refused.append(place)
        refused += [path for path in (f"{place}/{name}" for name in files) if not os.access(path, os.R_OK)]
        looked += 1 + len(files)
        if refused or looked > _MOST_FILES:
            break
    if refused:
        me = os.geteuid()
        remedy = f"Run as the owner of the files, or give them to this user: chown -R {me} {folder}"
        findings.fault("permissions", f"user {me}, group {os.getegid()} cannot use {refused[0]}", remedy)
    else:
        findings.ok("permissions", f"user {os.geteuid()} may read and write")
