"""Every exception Scoter raises on purpose.

    ScoterError
    ├── UserError           the user can fix it: shown as one message, exit code 2
    │   ├── UsageError      a wrong option or argument, or an unreadable file
    │   │   ├── NameTaken       an archive of that name exists
    │   │   └── MadeByNewer     stored data has a newer format than this version of Scoter reads
    │   ├── DamagedManifest the description of a table's version cannot be decoded
    │   ├── StoreConflict   another process changed an object that this one was about to replace
    │   ├── OutOfMemory     a job needs more memory than engine.memory_limit allows
    │   ├── ConfigError     a setting that is unknown, of the wrong type, or out of range
    │   ├── RuleError       a bad line in a rule file (with file and line)
    │   ├── PluginError     a plug-in that is unknown, fails to import, or does not fit its extension point
    │   ├── UrlError        text that is not a URL
    │   ├── ClientError     a live service refused a request, or sent an unexpected response (``scoter.client``)
    │   │   └── Unreachable     no response
    │   └── Unavailable     data cannot be stored at the moment; retried until it can
    │       ├── StoreUnavailable    the database
    │       │   └── StoreDamaged        its file is damaged, empty or missing
    │       └── ContentUnavailable  the archive
    ├── Postponed           a hop of the live service was not made and will be retried (``scoter.live``)
    └── Defect              a bug in Scoter: shown with a traceback

Errors of web servers are never exceptions but values (see ``core.reply``).
"""

from __future__ import annotations

from collections.abc import Iterable

from scoter.secrets import without_userinfo


class ScoterError(Exception):
    """Anything Scoter raises on purpose."""


class UserError(ScoterError):
    """An error that the user can fix: what is wrong, where, and what to do about it."""

    exit_code = 2

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        # Object stores and servers are named by URLs, which may contain passwords.
        self.message = without_userinfo(message)
        self.where = without_userinfo(where)
        self.hint = without_userinfo(hint)
        super().__init__(self.message)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n{self.hint}" if self.hint else text


class UsageError(UserError):
    """A wrong option or argument, or an unreadable file."""


class NameTaken(UsageError):
    """An archive with the name of the one to be written exists."""


class MadeByNewer(UsageError):
    """Stored data has a newer format than this version of Scoter reads."""

    def __init__(self, what: str, found: int, known: int, *, where: str = "", hint: str = "") -> None:
        message = (
            f"{what} was made by a newer version of Scoter"
            f" (format {found}, this version reads up to {known}); upgrade Scoter"
        )
        super().__init__(message, where=where, hint=hint)


class DamagedManifest(UserError):
    """The manifest of a table's version cannot be decoded."""


class OutOfMemory(UserError):
    """A job needs more memory than ``engine.memory_limit`` allows."""


class StoreConflict(UserError):
    """Another process changed an object that this one was about to replace; nothing was changed."""


class ConfigError(UserError):
    """A setting that is unknown, of the wrong type, or out of range."""


class RuleError(UserError):
    """A bad line in a rule file."""

    def __init__(self, message: str, *, file: str, line: int, hint: str = "") -> None:
        self.file = file
        self.line = line
        super().__init__(message, where=f"{file}:{line}", hint=hint)


class PluginError(UserError):
    """A plug-in that is unknown, fails to import, or does not fit its extension point."""


class UrlError(UserError):
    """Text that is not a URL."""


class Unavailable(UserError):
    """Data cannot be stored at the moment: a full disk, a lock, a failing device. Nothing was written in part.

    Services wait and retry: the data itself is not at fault.
    """


class StoreUnavailable(Unavailable):
    """The database cannot be read or written."""


class StoreDamaged(StoreUnavailable):
    """The file of the database is damaged, empty or missing; only a person can repair that."""


class ContentUnavailable(Unavailable):
    """The archive cannot be written."""


class Defect(ScoterError):
    """A bug in Scoter."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most similar to ``name``, or an empty string.

    >>> nearest("fetch.dealy", ["fetch.delay", "fetch.threads"])
    'fetch.delay'
    >>> nearest("zzz", ["fetch.delay"])
    ''
    """
    import difflib  # few commands fail

    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a suggestion to append to an error message: the known name most similar to ``name``, if there is one.

    >>> did_you_mean("host", ["hosts", "pages"])
    "; did you mean 'hosts'?"
    """
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else otherwise


def typed(*words: object) -> str:
    """Quote words for a shell, for hints that users copy.

    >>> typed("my crawl", "http://a.example/?b=1&c")
    "'my crawl' 'http://a.example/?b=1&c'"
    """
    import shlex

    return shlex.join(map(str, words))
