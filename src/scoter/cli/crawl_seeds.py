"""What the seeds of `scoter crawl` say about their hosts: which ones may be fetched from, and which are one's own.

A person who types the URL of a private host wants that host to be crawled, so it is added to ``fetch.allow_hosts``,
which is recorded with the crawl. Seeds in files and on standard input may come from anybody: they say nothing, except
with ``--allow-seeds``.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoter.cli.invocation import invocation, remark
from scoter.cli.output import visible
from scoter.errors import UrlError, UsageError, UserError, typed

if TYPE_CHECKING:
    from scoter.batch.urls.seeds import SeedSource
    from scoter.cli.session import CrawlSession
    from scoter.config import Config
    from scoter.core.url import Url

LOCAL_AGENT: Final = "scoter-local"
"""The name of a crawler that was given none and crawls only private hosts, whose owner is the person who started it."""
_MOST_HOSTS: Final = 1_000
_SHOWN: Final = 5


def read_input(directory: str, seeds: Sequence[str]) -> Sequence[SeedSource]:
    """Return the sources of the seeds; without seeds, check that there is a crawl to continue."""
    from scoter.batch.crawldir.directory import SAMPLE_START, CrawlDir
    from scoter.batch.urls.seeds import seed_sources
    from scoter.store.objects.path import any_path

    if not seeds:
        if not any_path(directory).exists():
            hint = f"To start one: scoter crawl {typed(directory)} {SAMPLE_START}"
            raise UsageError("no such directory, so there is no crawl to continue", where=directory, hint=hint)
        CrawlDir.open(directory)
    return seed_sources(seeds)


def allow_typed_seeds(sources: Sequence[SeedSource], *, with_files: bool) -> None:
    """Allow the private hosts and unusual ports of typed seeds, or with ``with_files`` of all; say which ones."""
    from scoter.batch.urls.seeds import STDIN
    from scoter.fetch.network.guard import Guard

    typed = [source for source in sources if isinstance(source, str) and source != STDIN]
    options = invocation()
    guard = Guard(options.config)
    needed = map(guard.exemption_for, urls_of(sources if with_files else typed))
    new = _bounded(filter(None, needed), "--allow-seeds")
    if not new:
        return
    options.override(f"fetch.allow_hosts={json.dumps([*options.config.fetch.allow_hosts, *new])}")
    why = "of --allow-seeds" if with_files else "you typed it" if len(new) == 1 else "you typed them"
    shown = visible(", ".join(new[:_SHOWN])) + (f" and {len(new) - _SHOWN:,} more" if len(new) > _SHOWN else "")
    remark(f"Allowed because {why}: {shown}, and no other private address or port. Recorded as fetch.allow_hosts.")


def name_local_crawl(sources: Sequence[SeedSource], scope: str, *, with_files: bool) -> None:
    """Give the crawler a name if it has none and all its seeds are private; forget that name for other seeds."""
    from scoter.fetch.network.allowed_hosts import is_private

    options = invocation()
    if options.config.agent.name not in ("", LOCAL_AGENT):
        return
    is_local = scope != "any" and (with_files or all(isinstance(each, str) for each in sources))
    is_local = is_local and all(is_private(url.host) for url in urls_of(sources))
    if is_local and sources:
        options.override(f"agent.name={LOCAL_AGENT}")
    elif sources:
        options.override('agent.name=""')


def declare_own(directory: str, sources: Sequence[SeedSource]) -> None:
    """Add the hosts of the seeds to ``fetch.own_hosts``; without seeds, those that the crawl's scope names."""
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.urls.seeds import scope_hosts

    options = invocation()
    known = options.config.fetch.own_hosts
    hosts = (url.host for url in urls_of(sources)) if sources else scope_hosts(CrawlDir.open(directory))
    new = _bounded((host for host in hosts if host and host not in known), "--own-site")
    if not new and not known:
        hint = f"Name the site again: scoter crawl {typed(directory)} https://www.example.org/ --own-site"
        raise UsageError("the crawl does not say which hosts are yours", where="--own-site", hint=hint)
    if new:
        options.override(f"fetch.own_hosts={json.dumps([*known, *new])}")


def urls_of(sources: Sequence[SeedSource]) -> Iterable[Url]:
    """Yield the URLs of seeds that are URLs; the others are reported when they are added."""
    from scoter.batch.urls.seeds import STDIN, SeedProblem, parse_seed, read_seeds
    from scoter.core.url import canonical

    for line in read_seeds([source for source in sources if source != STDIN]):
        if not isinstance(line, SeedProblem):
            with suppress(UrlError):
                yield canonical(parse_seed(line.text).text)


def _bounded(found: Iterable[str], option: str) -> list[str]:
    kept: dict[str, None] = {}
    for each in found:
        kept[each] = None
        if len(kept) > _MOST_HOSTS:
            raise UsageError(f"the seeds name more than {_MOST_HOSTS:,} hosts", where=option)
    return list(kept)


def add_seeds(session: CrawlSession, seeds: tuple[str, ...], scope: str) -> Config:
    """Add the seeds to the crawldb and return the configuration, restricted to the crawl's scope."""
    from scoter.batch.crawldir.crawldb import table_exists
    from scoter.batch.jobs.inject import inject
    from scoter.batch.urls.seeds import ANY_SCOPE, extend_scope, seed_hosts, seed_sources

    if seeds:
        seeds = tuple(str(_save_stdin(session)) if seed == "-" else seed for seed in seeds)
        done = inject(session.crawl, session.engine, session.config, seeds, now=session.now)
        known = f"{done.known:,} already known, {done.filtered:,} dropped by filters"
        session.status.note(f"Seeds: {done.new:,} new, {known}.")
        for each in done.complaints:
            session.status.note(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
        if not table_exists(session.crawl.crawldb):
            shown = next((each.text for each in urls_of(seed_sources(seeds))), "https://www.example.org/")
            hint = f"To see which filter drops a URL: scoter filterchecker {typed(shown)}"
            raise UserError("there is no seed to start from", hint=hint if done.filtered else "")
        if scope != ANY_SCOPE:
            extend_scope(session.crawl, scope, seed_hosts(seeds))
    return session.config if scope == ANY_SCOPE else session.scoped_config


def _save_stdin(session: CrawlSession) -> Path:
    """Copy standard input to a file: seeds are read twice, once for the URLs and once for the scope."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    file = session.scratch / "stdin"
    with file.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return file
