"""What a command on a crawl directory needs: the crawl, its lock, an engine, the time and a status line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scoter.cli.invocation import invocation
from scoter.cli.output import StatusLine, progress_bar
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.crawldir.progress import ProgressLog
    from scoter.config import Config
    from scoter.engine import Engine


class CrawlSession:
    """A command's access to a crawl directory while it runs."""

    def __init__(self, command: str, crawl: CrawlDir, stack: ExitStack, *, read_only: bool) -> None:
        options = invocation()
        self.command = command
        self.crawl = crawl
        self.config: Config = options.config
        self.now = datetime.now(UTC)
        self.status = StatusLine(options.quiet)
        self.memory_share = 1.0  # of the engine; the rest is for the arrays of the job
        self._stack = stack
        self._read_only = read_only

    @cached_property
    def engine(self) -> Engine:
        """The engine, started on first use."""
        from scoter.engine import open_engine
        from scoter.store.arrow import limit_arrow_memory

        limit_arrow_memory()
        # In this command's scratch folder, which it locks: other commands delete unlocked ones.
        config = _with_spark_folder(self.config, self.crawl)
        opened = open_engine(config, self.scratch, self._show_share, memory_share=self.memory_share)
        return self._stack.enter_context(opened)

    def _show_share(self, share: float) -> None:
        self.status.show(progress_bar(self.command, share))
        if not self._read_only:
            self.progress.add(self.command, share=round(share, 4))

    @cached_property
    def progress(self) -> ProgressLog:
        """What programs that watch the crawl read."""
        from scoter.batch.crawldir.progress import ProgressLog

        return ProgressLog(self.crawl.path, self.command)

    @cached_property
    def scoped_config(self) -> Config:
        """The configuration, restricted to the scope that `scoter crawl` recorded for this crawl."""
        from scoter.batch.urls.seeds import with_scope

        return with_scope(self.config, self.crawl)

    @cached_property
    def scratch(self) -> Path:
        """A folder that is deleted when the command ends."""
        from scoter.store.disk import Scratch, scratch_of_reader

        make = scratch_of_reader if self._read_only else Scratch
        scratch = make(self.crawl.scratch, self.command)
        self._stack.callback(scratch.close)
        return scratch.path


def _with_spark_folder(config: Config, crawl: CrawlDir) -> Config:
    """Return a configuration in which the executors of Spark exchange files where the crawl is."""
    from msgspec.structs import replace

    from scoter.store.objects.client import is_url

    if config.engine.spark_folder or not is_url(str(crawl.path)):
        return config
    return replace(config, engine=replace(config.engine, spark_folder=str(crawl.path / "tmp")))


def _check_filters(directory: str) -> None:
    """Raise if the crawl has URL filters that are not used: without them, it would leave its bounds."""
    ignored = [item.name for item in invocation().loaded().ignored if item.name.startswith("urlfilter.")]
    if ignored:
        raise UsageError(
            f"the URL filters of this crawl are not used: {', '.join(ignored)}",
            where=str(directory),
            hint="Give them again (-D, -c), or pass --trust-settings if you trust the directory.",
        )


@contextmanager
def crawl_session(command: str, directory: str, *, create: bool = False, lock: bool = True) -> Iterator[CrawlSession]:
    """Open a crawl directory for a command; ``lock`` keeps other commands from changing the crawldb meanwhile."""
    from scoter.batch.crawldir.directory import CrawlDir

    now = datetime.now(UTC)
    crawl = CrawlDir.create(directory, now) if create else CrawlDir.open(directory)
    if lock:
        _check_filters(directory)
    crawl.set_lease(invocation().config.store.lease)
    with ExitStack() as stack:
        if lock:
            stack.enter_context(crawl.lock(command, now))
        session = CrawlSession(command, crawl, stack, read_only=not lock)
        stack.callback(session.status.clear)
        yield session
