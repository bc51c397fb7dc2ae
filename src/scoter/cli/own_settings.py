"""Which settings of crawl directories this user has recorded: they need no further consent.

``$XDG_STATE_HOME/scoter/own-settings`` has the digest of each ``settings.toml`` that a command of this user wrote, the
newest last. A file that somebody else made or changed is not among them.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from scoter.errors import UserError

_FILE: Final = "own-settings"
_MOST: Final = 1_000
"""The number of digests that are kept."""


def remember_settings(text: str) -> None:
    """Note that this user has recorded a file of settings. Without a home directory, it is not noted."""
    from scoter.store.tables.local import LocalStorage  # loads Arrow

    digest = _digest(text.encode())
    with suppress(OSError, UserError, RuntimeError):
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = [each for each in _known() if each != digest]
        LocalStorage(folder).replace(_FILE, "".join(f"{each}\n" for each in [*others[1 - _MOST :], digest]).encode())


def is_own_settings(file: Path) -> bool:
    """Return whether this user has recorded a file of settings, as it is now."""
    with suppress(OSError, RuntimeError):
        return _digest(file.read_bytes()) in _known()
    return False


def _known() -> list[str]:
    try:
        return (_folder() / _FILE).read_text("ascii", errors="replace").split()
    except FileNotFoundError:
        return []


def _folder() -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "scoter"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
