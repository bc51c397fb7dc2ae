"""Run the chains of URL filters and normalisers, with or without a trace of what each one did.

A chain is a sequence of (name, plug-in). The crawl uses the fast functions, the checkers the tracing ones; both give
the same result. For the trace, a filter may have ``explain(url)`` and a normaliser ``explain(text, scope)``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from scoter.core.url import Url, canonical
from scoter.errors import PluginError, UrlError

Scope: TypeAlias = Literal[
    "default", "partition", "generate_host_count", "fetcher", "crawldb", "linkdb", "inject", "outlink", "indexer"
]
"""Where a URL is being normalised."""


class UrlFilter(Protocol):
    """Keeps a URL or drops it."""

    def keeps(self, url: Url) -> bool: ...


class UrlNormalizer(Protocol):
    """Rewrites a URL, or returns `None` if the text is not a URL."""

    def normalize(self, text: str, scope: Scope) -> str | None: ...


class Step(Struct, frozen=True):
    """What one plug-in of a chain did; ``after`` is ``None`` if it dropped the URL."""

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


def rewrite(text: str, normalizers: Sequence[tuple[str, UrlNormalizer]], scope: Scope, loops: int = 1) -> str | None:
    """Run the normalisers, at most ``loops`` times, until nothing changes; ``None`` if one drops the URL."""
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


def normalize(text: str, normalizers: Sequence[tuple[str, UrlNormalizer]], scope: Scope, loops: int = 1) -> Url | None:
    """Normalise a URL and return it in canonical form, whatever the chain returned.

    >>> normalize("HTTP://Example.org", (), "default")
    Url('http://example.org/')
    """
    found = rewrite(text, normalizers, scope, loops)
    return None if found is None else _canonical(found)


def respell(url: Url, normalizers: Sequence[tuple[str, UrlNormalizer]], scope: Scope, loops: int = 1) -> Url | None:
    """Do the same for a canonical URL; faster, since most URLs do not change."""
    found = rewrite(url.text, normalizers, scope, loops)
    if found == url.text:
        return url
    return None if found is None else _canonical(found)


def keeps(url: Url, filters: Sequence[tuple[str, UrlFilter]]) -> bool:
    """Return whether every filter keeps a URL; stop at the first that does not."""
    asked = ""
    try:
        for asked, each in filters:  # noqa: B007 - named in the error
            if not each.keeps(url):
                return False
    except Exception as error:  # somebody else's plug-in
        raise _broken(asked, url.text, error) from error
    return True


def trace_normalize(
    text: str, normalizers: Sequence[tuple[str, UrlNormalizer]], scope: Scope, loops: int = 1
) -> tuple[Url | None, tuple[Step, ...]]:
    """Do the same as ``normalize``, and trace every step."""
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
        steps.append(Step("canonical", found, None if url is None else url.text, "" if url else "not a URL"))
    return url, tuple(steps)


def trace_filters(url: Url, filters: Sequence[tuple[str, UrlFilter]]) -> tuple[bool, tuple[Step, ...]]:
    """Do the same as ``keeps``, and trace what each filter decided and why."""
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
    return str(why or "not a URL")


def _broken(name: str, text: str, error: Exception) -> PluginError:
    return PluginError(
        f"{name} failed on {text[:200]!r}: {type(error).__name__}: {error}",
        hint="Report this to the maintainer of its package (see scoter plugin list), or deactivate the plug-in.",
    )


def _canonical(text: str) -> Url | None:
    try:
        return canonical(text)
    except UrlError:
        return None


def takes(method: Callable[..., object], arguments: int) -> bool:
    """Return whether a method takes this number of arguments; older plug-ins may take fewer than are offered now.

    >>> takes(lambda url, datum: None, 2), takes(lambda url, datum: None, 3), takes(lambda *given: None, 3)
    (True, False, True)
    """
    try:
        inspect.signature(method).bind(*range(arguments))
    except (TypeError, ValueError):  # a built-in function without a signature
        return False
    return True
