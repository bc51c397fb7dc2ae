"""What every command over a crawl directory needs: the crawl, its lock, an engine, the time, and a line of progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scoter.cli.invocation import invocation
from scoter.cli.progress import StatusLine, percent

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.config import Config
    from scoter.engine import Engine


class Work:
    """A command's surroundings while it runs."""

    def __init__(self, command: str, crawl: CrawlDir, stack: ExitStack, *, only_reads: bool) -> None:
        said = invocation()
        self.command = command
        self.crawl = crawl
        self.config: Config = said.config
        self.now = datetime.now(UTC)
        self.line = StatusLine(said.quiet)
        self._stack = stack
        self._only_reads = only_reads

    @cached_property
    def engine(self) -> Engine:
        """The engine, started when it is first needed."""
        from scoter.engine import open_engine
        from scoter.store.arrow import limit_arrow_memory

        limit_arrow_memory()
        # In the command's own folder, which is held: another command sweeps away whatever nobody holds.
        opened = open_engine(self.config, self.scratch, lambda share: self.line.show(percent(self.command, share)))
        return self._stack.enter_context(opened)

    @cached_property
    def scoped(self) -> Config:
        """The configuration with the scope that `scoter crawl` gave this crawl, for the steps of a round."""
        from scoter.batch.urls.seeds import within

        return within(self.config, self.crawl)

    @cached_property
    def scratch(self) -> Path:
        """A folder for what is needed only while the command runs."""
        from scoter.store.disk import Scratch, scratch_of_reader

        make = scratch_of_reader if self._only_reads else Scratch
        made = make(self.crawl.scratch, self.command)
        self._stack.callback(made.close)
        return made.path


@contextmanager
def working(command: str, directory: str, *, create: bool = False, lock: bool = True) -> Iterator[Work]:
    """Open a crawl directory for a command; with ``lock``, no other command changes the crawldb meanwhile."""
    from scoter.batch.crawldir.directory import CrawlDir

    now = datetime.now(UTC)
    crawl = CrawlDir.create(directory, now) if create else CrawlDir.open(directory)
    with ExitStack() as stack:
        if lock:
            stack.enter_context(crawl.lock(command, now))
        work = Work(command, crawl, stack, only_reads=not lock)
        stack.callback(work.line.clear)
        yield work
