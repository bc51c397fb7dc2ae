"""How this installation gets an optional feature: the command to install one of Scoter's extras."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NAME = "scoter"


def install_command(extra: str, found: Distribution | None = None) -> str:
    """Return the command that adds an extra, from the same place as Scoter itself (or ``found``) was installed from.

    Tools record that place in ``direct_url.json`` (PEP 610), unless it was a package index.
    """
    if found is None:
        from importlib.metadata import PackageNotFoundError, distribution  # slow, and rarely needed

        try:
            found = distribution(_NAME)
        except PackageNotFoundError:  # run from its sources
            return f"{_installer('pip')} {shlex.quote(f'{Path(__file__).parents[2]}[{extra}]')}"
    origin = found.read_text("direct_url.json")
    source = _source(msgspec.json.decode(origin), extra) if origin else shlex.quote(f"{_NAME}[{extra}]")
    return f"{_installer((found.read_text('INSTALLER') or '').strip())} {source}"


def _source(origin: dict[str, Any], extra: str) -> str:
    url: str = origin["url"]
    if url.startswith("file:") and "vcs_info" not in origin:
        path = shlex.quote(f"{unquote(urlsplit(url).path)}[{extra}]")
        return f"-e {path}" if origin.get("dir_info", {}).get("editable") else path
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return shlex.quote(f"{_NAME}[{extra}] @ {url}")


def _installer(tool: str) -> str:
    """Return the beginning of a command that installs into this environment, whether or not it is activated."""
    if tool == "uv":  # its environments contain no pip
        return f"uv pip install --python {shlex.quote(sys.executable)}"
    on_path = shutil.which("pip")
    if on_path is not None and Path(on_path).parent == Path(sys.executable).parent:
        return "pip install"
    return f"{shlex.quote(sys.executable)} -m pip install"
