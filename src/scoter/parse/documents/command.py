"""A program of the user's as a parser: it is given a document and writes what is in it.

The program is started without a shell, in a folder of its own that is removed afterwards, with next to nothing in its
environment, and as the leader of its own process group, so that it and all it started can be ended together.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Setting
from scoter.config.units import Size
from scoter.core.page import Content, Page
from scoter.errors import ConfigError
from scoter.parse.documents.child import Ended, run
from scoter.parse.documents.pages import Found, Link, PageMaker, about
from scoter.parse.encoding import decoded
from scoter.parse.mediatype import HTML
from scoter.parse.parsers import HtmlParser
from scoter.plugins import Setup

_PLACES: Final = re.compile(r"\{(file|url|type)\}")
_TABLE: Final = "plugin.parser-command"
_MARGIN: Final = timedelta(seconds=1)


class CommandSettings(Struct, frozen=True):
    """Which program reads which documents."""

    command: Annotated[
        tuple[str, ...],
        Setting(
            "Program and its arguments; {file}, {url} and {type} stand for a file with the document, its URL and its "
            "media type. Without {file} the document comes by standard input.",
            example='["pdftotext", "-q", "{file}", "-"]',
        ),
    ] = ()
    media_types: Annotated[tuple[str, ...], Setting("Media types that it reads.", example='["application/pdf"]')] = ()
    output: Annotated[
        Literal["text", "html", "json"],
        Setting("What it writes to standard output: text, HTML, or an object with title, text, links and metadata."),
    ] = "text"
    timeout: Annotated[
        timedelta,
        Setting("Longest time for one document; never longer than parse.timeout.", at_least=timedelta(seconds=0.1)),
    ] = timedelta(seconds=20)
    output_limit: Annotated[Size, Setting("Most bytes that it may write.", at_least=1)] = Size(16 * 1024 * 1024)


class _Link(Struct, frozen=True):
    url: str
    anchor: str = ""


class _Answer(Struct, frozen=True):
    title: str = ""
    text: str = ""
    links: tuple[_Link, ...] = ()
    metadata: Mapping[str, str] = {}


class CommandParser:
    """Reads documents by a program that the settings name."""

    Settings = CommandSettings
    media_types: tuple[str, ...] = ()

    def __init__(self, setup: Setup) -> None:
        self._settings: CommandSettings = setup.settings or CommandSettings()
        self._maker = PageMaker(setup)
        self._html = HtmlParser(setup)
        self._default = setup.config.parse.character_encoding_default
        self._seconds = _seconds(self._settings.timeout, setup.config.parse.timeout)
        self._program = _program(self._settings.command)
        self.media_types = tuple(name.lower() for name in self._settings.media_types)

    def parse(self, content: Content) -> Sequence[Page]:
        with tempfile.TemporaryDirectory(prefix="scoter-") as folder:
            ended = self._run(content, Path(folder))
        page = self._page(content, ended)
        return (page,) if page.doubt or page.text or page.title or page.outlinks else ()

    def _run(self, content: Content, folder: Path) -> Ended:
        # A type is what a server sent, and must not pass for an option.
        given = {"url": content.url.text, "type": content.media_type.lstrip("-"), "file": str(folder / "document")}
        rest = self._settings.command[1:]
        by_file = any("{file}" in argument for argument in rest)
        if by_file:
            Path(given["file"]).write_bytes(content.body)
        return run(
            [self._program, *(_PLACES.sub(lambda found: given[found[1]], argument) for argument in rest)],
            b"" if by_file else content.body,
            folder=folder,
            seconds=self._seconds,
            most=self._settings.output_limit,
        )

    def _page(self, content: Content, ended: Ended) -> Page:
        if self._settings.output == "html":
            markup = replace(content, media_type=HTML, body=ended.output, encoding="")
            page = self._html.parse(markup)[0]
            return replace(page, media_type=content.media_type, doubt=ended.doubt or page.doubt)
        if self._settings.output == "json":
            return self._maker.page(content, _answer(ended))
        text = decoded(ended.output, "", self._default, markup=False).utf8.decode()
        return self._maker.page(content, Found(text=text, doubt=ended.doubt))


def _answer(ended: Ended) -> Found:
    try:
        answer = msgspec.json.decode(ended.output, type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Found(doubt=ended.doubt or f"the command's answer is not as it should be: {error}")
    return Found(
        text=answer.text,
        links=tuple(Link(link.url, link.anchor) for link in answer.links),
        about=about("content", title=answer.title),
        metadata=answer.metadata,
        doubt=ended.doubt,
    )


def _program(command: Sequence[str]) -> str:
    if not command:
        raise ConfigError(
            "the parser command has no command to run",
            where=_TABLE,
            hint='Set it, as command = ["pdftotext", "{file}", "-"], or take "command" out of parse.parsers.',
        )
    found = shutil.which(command[0])
    if found is None:
        raise ConfigError(
            f"the program {command[0]!r} is not there, or cannot be run",
            where=f"{_TABLE}.command",
            hint="Install it, write its full path, or take 'command' out of parse.parsers.",
        )
    return str(Path(found).absolute())


def _seconds(own: timedelta, whole: timedelta | None) -> float:
    """Return a limit under which the program is ended before the parser process is, which would leave it alone."""
    if whole is None:
        return own.total_seconds()
    return min(own, max(whole - _MARGIN, whole / 2)).total_seconds()
