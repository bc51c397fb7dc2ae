"""What a crawl calls: from content to pages, by the parser for its type and the parse filters.

A parser may have ``in_place(content)``, which tells that it cannot take long over a content. What no parser vouches
for, and what those who do find nothing in, is parsed in a process that can be stopped (``containment``), so that a
hostile page costs its own time limit and nothing else.
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
    """Parses contents, one after another; the process for hostile ones is ended by ``close``.

    Parsers and filters that are handed in stay in this process, whatever they are given.
    """

    def __init__(
        self,
        config: Config,
        parsers: Sequence[tuple[str, Parser]] | None = None,
        filters: Sequence[tuple[str, ParseFilter]] = (),
        *,
        process: ParserProcess | None = None,
    ) -> None:
        self._skip_truncated = config.parse.skip_truncated
        self._chain = ParserChain.of(config) if parsers is None else ParserChain(parsers, filters)
        self._process = ParserProcess.of(config) if parsers is None and process is None else process
        # A thread of its own: a hostile page must not hold up what else the event loop's threads do.
        self._thread = ThreadPoolExecutor(1, "parsing")

    def parse(self, content: Content) -> ParseOutcome:
        """Return the pages of a content, or why there are none; this may take as long as ``parse.timeout``."""
        if (refused := self._refused(content)) is not None:
            return refused
        if self._process is None:
            return self._chain.parse(content)
        done = self._chain.parse_in_place(content)
        return done if done is not None else self._process.parse(content)

    def parse_in_place(self, content: Content) -> ParseOutcome | None:
        """Do as ``parse`` does, unless it may take long: nothing is parsed then."""
        refused = self._refused(content)
        return refused if refused is not None else self._chain.parse_in_place(content)

    async def parse_async(self, content: Content, *, apart: bool = False) -> ParseOutcome:
        """Do as ``parse`` does; what is parsed in the other process leaves the event loop free.

        What is to be parsed ``apart`` is parsed there whatever parsers vouch for: somebody has died of it.
        """
        if (refused := self._refused(content)) is not None:
            return refused
        if self._process is None:
            return self._chain.parse(content)
        done = None if apart else self._chain.parse_in_place(content)
        if done is not None:
            return done
        import asyncio  # here, since the parser process imports this module and has no use for it

        return await asyncio.get_running_loop().run_in_executor(self._thread, self._process.parse, content)

    def close(self) -> None:
        """End the process, if there is one, and what it was about."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            self._process.close()

    def __enter__(self) -> ContentParser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refused(self, content: Content) -> ParseFailed | None:
        if content.truncated and self._skip_truncated:
            return ParseFailed("truncated")
        if not self._chain.reads(content.media_type):
            return ParseFailed("no_parser", content.media_type)
        return None
