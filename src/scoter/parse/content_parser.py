"""The entry point of parsing: from a content to its pages.

A parser may have a method ``in_place(content)``, which returns whether it is sure to parse that content quickly. All
other contents are parsed in a separate process with limits (``parser_process``), so that a hostile page costs no more
than its own time limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from scoter.config import Config
from scoter.core.page import Content
from scoter.parse.chain import ParserChain
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import Parsed, ParseFailed, ParseOutcome
from scoter.plugins import ParseFilter, Parser

__all__ = ["ContentParser", "ParseFailed", "ParseOutcome", "Parsed"]


class ContentParser:
    """Parses contents one after another. ``close`` ends the parser process, if one was started.

    Parsers and filters passed to the constructor always run in this process.
    """

    def __init__(
        self,
        config: Config,
        parsers: Sequence[tuple[str, Parser]] | None = None,
        filters: Sequence[tuple[str, ParseFilter]] = (),
        *,
        process: ParserProcess | None = None,
        keeps_process: bool = False,
    ) -> None:
        """``keeps_process``: ``close`` ends ``process`` only if it is parsing a content."""
        self._skip_truncated = config.parse.skip_truncated
        self._chain = ParserChain.of(config) if parsers is None else ParserChain(parsers, filters)
        self._process = ParserProcess.of(config) if parsers is None and process is None else process
        self._keeps_process = keeps_process
        # A dedicated thread, so that a hostile page cannot block the threads of the event loop.
        self._thread = ThreadPoolExecutor(1, "parsing")

    def parse(self, content: Content) -> ParseOutcome:
        """Parse a content; this may take up to ``parse.timeout``."""
        if self._process is None:
            return self.refused(content) or self._chain.parse(content)
        return self.parse_in_place(content) or self._process.parse(content)

    def parse_in_place(self, content: Content) -> ParseOutcome | None:
        """Parse a content if that is sure to be quick; otherwise return ``None``."""
        return self.refused(content) or self._chain.parse_in_place(content)

    async def parse_async(self, content: Content, *, apart: bool = False) -> ParseOutcome:
        """Parse a content without blocking the event loop.

        Pass ``apart=True`` to use the parser process in any case, for a content that has crashed a worker before.
        """
        if self._process is None:
            return self.parse(content)
        done = self.refused(content) if apart else self.parse_in_place(content)
        if done is not None:
            return done
        import asyncio  # the parser process imports this module too and does not need asyncio

        return await asyncio.get_running_loop().run_in_executor(self._thread, self._process.parse, content)

    def close(self) -> None:
        """End the content being parsed, and the parser process unless it is to be kept."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is None:
            return
        if self._keeps_process:
            self._process.interrupt()
        else:
            self._process.close()

    def __enter__(self) -> ContentParser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refused(self, content: Content) -> ParseFailed | None:
        """Return why a content is not parsed at all, or ``None``."""
        if content.truncated and self._skip_truncated:
            return ParseFailed("truncated")
        if not self._chain.reads(content.media_type):
            return self._chain.unread(content.media_type)
        return None
