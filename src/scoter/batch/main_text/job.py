"""Make the main text and the Markdown that a crawl did not store, from its archive, and keep them.

A segment gets a further set of parts, ``main_text``: each replaces the part of ``parse_text`` with the same name, and
has its rows with ``main_text``. If Markdown is needed, which costs more than half as much again, there is another set,
``main_markdown``, with both. Parts that are finished are not made again, so that a command that is
killed goes on where it was.

What the pages of a host repeat is boilerplate. So before any part is made, a few pages of each host are read, from all
parts, to learn what that is (``hosts``).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.lists import process_count
from scoter.batch.main_text.gaps import MissingPart, missing_parts
from scoter.batch.main_text.pool import run_tasks
from scoter.batch.main_text.worker import MainTextTask, TaskKind, run_task
from scoter.config import Config
from scoter.errors import UserError

MainTextProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of pages that are done, and of all pages."""
NOT_KEPT: Final = "The main text of the pages was made, but not kept: the crawl directory cannot be written to."
_SMALL: Final = 500
"""Pages for which no worker processes are started, which takes a second."""
_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_OLDER: Final = 64  # parts with main text that are read again, for further pages of hosts


class MainTextResult(Struct, frozen=True, kw_only=True):
    """How many pages got main text; ``is_kept``: it was stored in the crawl directory."""

    pages: int = 0
    is_kept: bool = True


def make_main_text(
    crawl: CrawlDir,
    config: Config,
    scratch: Path,
    *,
    markdown: bool = False,
    progress: MainTextProgress = lambda done, total: None,
) -> MainTextResult:
    """Make the main text of all parsed pages of a crawl that have none; ``markdown``: and of those without Markdown.

    If the crawl directory cannot be written to, the result is stored in ``scratch``, where the segments of ``crawl``
    find it as long as that exists.
    """
    segments = [each for each in crawl.all_segments() if each.is_parsed]
    incomplete = [each for each in segments if next(missing_parts(each, markdown=markdown), None)]
    if not incomplete:
        return MainTextResult()
    with ExitStack() as stack:
        locks = _locked(incomplete, stack)
        into = None
        if locks is None:
            into = crawl.made = scratch / "main_text"
            incomplete = [Segment(each.path, into / each.name) for each in incomplete]
            locks = dict.fromkeys((each.name for each in incomplete), "")
        for each in incomplete:
            each.main_text(markdown=markdown).recover()
        missing = [part for each in incomplete for part in missing_parts(each, markdown=markdown)]
        run = _MainTextRun(
            config=config,
            markdown=markdown,
            hosts=scratch / "hosts.sqlite",
            into=into,
            locks=locks,
            pages=sum(part.pages for part in missing),
        )
        run.learn(incomplete, segments)
        run.make(missing, progress)
    return MainTextResult(pages=run.pages, is_kept=into is None)


def _locked(segments: Sequence[Segment], stack: ExitStack) -> Mapping[str, str] | None:
    """Lock segments and return the tokens of the locks, or ``None`` if nothing can be written there."""
    tokens = {}
    for segment in segments:
        try:
            tokens[segment.name] = stack.enter_context(segment.lock("main text")).token
        except UserError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _REFUSED:
                return None
            raise
    return tokens


class _MainTextRun(Struct, frozen=True, kw_only=True):
    """Learns the hosts and makes the parts of a command."""

    config: Config
    markdown: bool
    hosts: Path
    into: Path | None
    locks: Mapping[str, str]
    pages: int

    def learn(self, incomplete: Sequence[Segment], segments: Sequence[Segment]) -> None:
        """Learn the hosts of incomplete segments from these, and from the newest parts of others.

        The same pages are chosen if a killed command is repeated, unless it had finished more than ``_OLDER`` parts of
        complete segments.
        """
        names = {each.name for each in incomplete}
        parts = [(each, part) for each in incomplete for part in each.crawl_fetch().finished()]
        older = ((each, part) for each in reversed(segments) for part in each.crawl_fetch().finished())
        others = list(islice(((each, part) for each, part in older if each.name not in names), _OLDER))
        self._run([self._task(segment, part, "choose") for segment, part in parts])
        self._run([self._task(segment, part, "choose", only_known=True) for segment, part in others])
        self._run([self._task(segment, part, "learn") for segment, part in (*parts, *others)])

    def make(self, missing: Sequence[MissingPart], progress: MainTextProgress) -> None:
        """Make parts, the largest first."""
        done = 0

        def on_done(pages: int) -> None:
            nonlocal done
            done += pages
            progress(done, self.pages)

        ordered = sorted(missing, key=lambda part: -part.pages)
        self._run([self._task(part.segment, part.name, "make") for part in ordered], on_done)

    def _task(self, segment: Segment, part: str, kind: TaskKind, *, only_known: bool = False) -> MainTextTask:
        return MainTextTask(
            kind=kind,
            config=self.config,
            segment=str(segment.path),
            part=part,
            hosts=str(self.hosts),
            only_known=only_known,
            markdown=self.markdown,
            into="" if self.into is None else str(self.into / segment.name),
            lock=self.locks.get(segment.name, ""),
        )

    def _run(self, tasks: Sequence[MainTextTask], on_done: Callable[[int], None] = lambda pages: None) -> None:
        if self.pages <= _SMALL:
            for task in tasks:
                for pages in run_task(task):
                    on_done(pages)
        else:
            run_tasks(tasks, min(process_count(self.config), len(tasks)), on_done)
