"""Every exception Scoter raises on purpose.

    ScoterError
    ├── UserError           the person can mend it: shown as one message, exit code 2
    │   ├── UsageError      a wrong option, argument or unreadable file
    │   │   └── NameTaken       of an archive
    │   ├── ConfigError     a setting that is unknown, of the wrong kind, or out of range
    │   ├── RuleError       a bad line in a rule file (says file and line)
    │   ├── PluginError     a plug-in that is unknown, fails to import, or does not fit its point
    │   ├── UrlError        text that is no URL
    │   ├── ClientError     a live service refused, or its answer is not understood (``scoter.client``)
    │   │   └── Unreachable     no answer came
    │   └── Unavailable     what is to be kept cannot be just now; it goes on by itself when it can
    │       ├── StoreUnavailable    by the database
    │       └── ContentUnavailable  by the archive
    ├── Postponed           a hop of the live service was not made, and comes again (``scoter.live``)
    └── Defect              Scoter broke a promise of its own: shown with a traceback

What the web does wrong is never an exception; it is a value (see ``core.reply``).
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable


class ScoterError(Exception):
    """Anything Scoter raises on purpose."""


class UserError(ScoterError):
    """A mistake the person can mend: what was wrong, where, and what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n{self.hint}" if self.hint else text


class UsageError(UserError):
    """A wrong option, argument or unreadable file."""


class NameTaken(UsageError):
    """The name of an archive that is to be written belongs to another."""


class ConfigError(UserError):
    """A setting that is unknown, of the wrong kind, or out of range."""


class RuleError(UserError):
    """A rule file with a line that means nothing."""

    def __init__(self, message: str, *, file: str, line: int, hint: str = "") -> None:
        self.file = file
        self.line = line
        super().__init__(message, where=f"{file}:{line}", hint=hint)


class PluginError(UserError):
    """A plug-in that is unknown, fails to import, or does not fit its point."""


class UrlError(UserError):
    """Text that is no URL."""


class Unavailable(UserError):
    """What is to be kept cannot be just now: a full disk, a lock, a failing device. Nothing was half done.

    Whoever works for others meets it by waiting: it says nothing of what was to be kept.
    """


class StoreUnavailable(Unavailable):
    """The database cannot be read or written."""


class ContentUnavailable(Unavailable):
    """Nothing can be archived."""


class Defect(ScoterError):
    """Scoter broke a promise of its own."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that looks most like ``name``, or nothing.

    >>> nearest("fetch.dealy", ["fetch.delay", "fetch.threads"])
    'fetch.delay'
    >>> nearest("zzz", ["fetch.delay"])
    ''
    """
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def typed(*words: object) -> str:
    """Return words as one types them into a shell, for hints that are copied.

    >>> typed("my crawl", "http://a.example/?b=1&c")
    "'my crawl' 'http://a.example/?b=1&c'"
    """
    return shlex.join(map(str, words))
