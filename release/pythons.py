"""The Pythons that a release is built for and tested on.

A Python is taken from this machine, if it is there with its headers, or else from a Debian release that has it:
``mmdebstrap`` unpacks that into ``build/roots``, once, and commands run in it with ``bwrap``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
"""The Pythons of a release, and the releases of Debian that have them."""
TOOLS = ("mmdebstrap", "bwrap")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_HAS_HEADERS = "import ensurepip, os, sysconfig as s; exit(not os.path.exists(s.get_path('include') + '/Python.h'))"


class Missing(Exception):
    """A Python cannot be had on this machine; says why."""


@dataclass(frozen=True, slots=True)
class Python:
    """A Python to build with, and how to run commands where it is."""

    version: str
    executable: str
    origin: str
    prefix: tuple[str, ...] = ()

    def run(self, command: Sequence[str | Path], folder: Path, env: Mapping[str, str] | None = None) -> str:
        """Run a command in a folder of the release; return its output."""
        certificates = {"PIP_CERT": str(_CERTIFICATES)} if _CERTIFICATES.exists() else {}
        path = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"} if self.prefix else {}  # of the root
        done = subprocess.run(
            [*self.prefix, *map(str, command)],
            cwd=folder,
            env={**os.environ, **certificates, **path, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"Python {self.version}: {' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")
        return done.stdout


def find_python(version: str, roots: Path, work: Path) -> Python:
    """Return a Python of a version; raise ``Missing`` if there is none. ``work`` is visible to its commands."""
    own = shutil.which(f"python{version}")
    if own is not None and _has_headers(own):
        return Python(version, own, "this machine")
    suite = SUITES.get(version)
    if suite is None:
        raise Missing(f"no python{version} on the path, and no release of Debian is known to have it")
    root = roots / suite
    if not (root / "usr/bin" / f"python{version}").exists():
        _unpack(version, suite, root)
    return Python(version, f"/usr/bin/python{version}", f"Debian {suite}", _inside(root, work))


def _has_headers(executable: str) -> bool:
    done = subprocess.run([executable, "-c", _HAS_HEADERS], check=False, stderr=subprocess.DEVNULL)
    return done.returncode == 0


def _unpack(version: str, suite: str, root: Path) -> None:
    if os.geteuid() != 0:
        raise Missing(f"no python{version} with headers on the path; unpacking Debian {suite} needs root")
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        raise Missing(
            f"Debian {suite} cannot be unpacked: apt-get install mmdebstrap bubblewrap ({missing[0]} is missing)"
        )
    names = [f"python{version}{suffix}" for suffix in ("", "-venv", "-dev")]
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={','.join(names)},gcc,libc6-dev,ca-certificates",
    ]
    # Mirrors that stand still have an expired list of packages. Its signature is checked all the same.
    command += ['--aptopt=Acquire::Check-Valid-Until "false"', suite, str(root)]
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(root, ignore_errors=True)
        raise Missing(
            f"Debian {suite} cannot be unpacked: {(done.stderr.strip().splitlines() or ['mmdebstrap failed'])[-1]}"
        )


def _inside(root: Path, work: Path) -> tuple[str, ...]:
    shared = [path for path in ("/etc/resolv.conf", "/etc/hosts", str(_CERTIFICATES)) if Path(path).exists()]
    binds = [word for path in shared for word in ("--ro-bind", str(Path(path).resolve()), path)]
    basics = ("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--die-with-parent")
    return ("bwrap", "--bind", str(root), "/", *basics, *binds, "--bind", str(work), str(work))
