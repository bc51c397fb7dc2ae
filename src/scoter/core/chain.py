"""Filters and normalisers one after another, and the same with a record of what each did.

A chain is a sequence of (name, plug-in). The quick forms are for the crawl, the tracing ones for the checkers; they
agree on the outcome. For the record a filter may have ``explain(url)``, a normaliser ``explain(text, scope)``: why it
dropped a URL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from scoter.core.url import Url, canonical
from scoter.errors import PluginError, UrlError

Scope: TypeAlias = Literal[
    "default", "partition", "generate_host_count", "fetcher", "crawldb", "linkdb", "inject", "outlink", "indexer"
]
"""Where a URL is being normalised."""


class Keeps(Protocol):
    """Keeps a URL or drops it."""

    def keeps(self, url: Url) -> bool: ...


class Normalizes(Protocol):
    """Rewrites a URL's spelling, or returns nothing when there is no URL in it."""

    def normalize(self, text: str, scope: Scope) -> str | None: ...


class Step(Struct, frozen=True):
    """What one link of a chain did: a normaliser changes the text, a filter keeps it or not."""

    name: str
    before: str
    after: str | None
    why: str = ""

    @property
    def changed(self) -> bool:
        return self.after != self.before

    @property
    def kept(self) -> bool:
        return self.after is not None


def rewrite(text: str, normalizers: Sequence[tuple[str, Normalizes]], scope: Scope, loops: int = 1) -> str | None:
    """Run the normalisers, at most so many times, until nothing changes; nothing when one of them finds no URL."""
    found: str | None = text
    for _ in range(loops):
        before = found
        for name, normalizer in normalizers:
            if found is None:
                return None
            try:
                found = normalizer.normalize(found, scope)
            except Exception as error:  # somebody else's plug-in
                raise _broken(name, text, error) from error
        if found == before:
            break
    return found


def normalize(text: str, normalizers: Sequence[tuple[str, Normalizes]], scope: Scope, loops: int = 1) -> Url | None:
    """Return a URL in the spelling that the chain gives it, in canonical form whatever the chain left undone.

    >>> normalize("HTTP://Example.org", (), "default")
    Url('http://example.org/')
    """
    found = rewrite(text, normalizers, scope, loops)
    return None if found is None else _canonical(found)


def respell(url: Url, normalizers: Sequence[tuple[str, Normalizes]], scope: Scope, loops: int = 1) -> Url | None:
    """Do as ``normalize`` does with a URL that is canonical already: most come out of the chain as they went in."""
    found = rewrite(url.text, normalizers, scope, loops)
    if found == url.text:
        return url
    return None if found is None else _canonical(found)


def keeps(url: Url, filters: Sequence[tuple[str, Keeps]]) -> bool:
    """Tell whether every filter keeps a URL; the first that does not is the last one asked."""
    asked = ""
    try:
        for asked, each in filters:  # noqa: B007 - told when it fails
            if not each.keeps(url):
                return False
    except Exception as error:  # somebody else's plug-in
        raise _broken(asked, url.text, error) from error
    return True


def trace_normalize(
    text: str, normalizers: Sequence[tuple[str, Normalizes]], scope: Scope, loops: int = 1
) -> tuple[Url | None, tuple[Step, ...]]:
    """Do as ``normalize`` does, and say what each link did."""
    steps: list[Step] = []
    found: str | None = text
    for _ in range(loops):
        before = found
        for name, normalizer in normalizers:
            if found is None:
                return None, tuple(steps)
            after = rewrite(found, [(name, normalizer)], scope)
            steps.append(Step(name, found, after, _why(normalizer, found, scope) if after is None else ""))
            found = after
        if found == before:
            break
    if found is None:
        return None, tuple(steps)
    url = _canonical(found)
    if url is None or url.text != found:
        steps.append(Step("canonical", found, None if url is None else url.text, "" if url else "no URL"))
    return url, tuple(steps)


def trace_filters(url: Url, filters: Sequence[tuple[str, Keeps]]) -> tuple[bool, tuple[Step, ...]]:
    """Do as ``keeps`` does, and say what each filter decided and why."""
    steps: list[Step] = []
    for name, each in filters:
        kept = keeps(url, [(name, each)])
        explain = getattr(each, "explain", None)
        why = str(explain(url) or "") if callable(explain) else ""
        steps.append(Step(name, url.text, url.text if kept else None, why))
        if not kept:
            return False, tuple(steps)
    return True, tuple(steps)


def _why(normalizer: object, text: str, scope: Scope) -> str:
    explain: Callable[[str, Scope], str] | None = getattr(normalizer, "explain", None)
    why = explain(text, scope) if callable(explain) else ""
    return str(why or "no URL is left")


def _broken(name: str, text: str, error: Exception) -> PluginError:
    return PluginError(
        f"{name} failed on {text[:200]!r}: {type(error).__name__}: {error}",
        hint="Report it to the package that `scoter plugin list` names, or take the plug-in out of its chain.",
    )


def _canonical(text: str) -> Url | None:
    try:
        return canonical(text)
    except UrlError:
        return None
