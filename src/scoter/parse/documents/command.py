"""Parse documents with an external program.

The program runs without a shell, in its own temporary directory, with a minimal environment, and as the leader of
its own process group, so that it can be killed together with everything it started.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
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
from scoter.parse.documents.pages import DocumentContent, DocumentLink, DocumentParser, about
from scoter.parse.encoding import decode_page
from scoter.parse.mediatype import HTML
from scoter.parse.parsers import HtmlParser
from scoter.plugins import Setup

_PLACES: Final = re.compile(r"\{(file|url|type)\}")
_TABLE: Final = "plugin.parser-command"
_MARGIN: Final = timedelta(seconds=1)
_PIECE: Final = 64 * 1024
_MOST_COMPLAINTS: Final = 4_096  # bytes of standard error that are kept; the rest is discarded


class CommandSettings(Struct, frozen=True):
    """Which program reads which documents."""

    command: Annotated[
        tuple[str, ...],
        Setting(
            "Program and arguments; {file}, {url} and {type} are replaced by a file with the document, its URL and its "
            "content type. Without {file} the document arrives on standard input.",
            example='["pdftotext", "-q", "{file}", "-"]',
        ),
    ] = ()
    media_types: Annotated[tuple[str, ...], Setting("Content types that it reads.", example='["application/pdf"]')] = ()
    output: Annotated[
        Literal["text", "html", "json"],
        Setting("Format of its standard output: text, HTML, or a JSON object with title, text, links and metadata."),
    ] = "text"
    timeout: Annotated[
        timedelta,
        Setting("Timeout per document; at most parse.timeout.", at_least=timedelta(seconds=0.1)),
    ] = timedelta(seconds=20)
    output_limit: Annotated[Size, Setting("Maximum size of its output.", at_least=1)] = Size(16 * 1024 * 1024)


class _JsonLink(Struct, frozen=True):
    url: str
    anchor: str = ""


class _JsonDocument(Struct, frozen=True):
    title: str = ""
    text: str = ""
    links: tuple[_JsonLink, ...] = ()
    metadata: Mapping[str, str] = {}


class CommandParser(DocumentParser):
    """Parses documents with the configured program."""

    Settings = CommandSettings
    media_types: tuple[str, ...] = ()

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._settings: CommandSettings = setup.settings or CommandSettings()
        self._html = HtmlParser(setup)
        self._default = setup.config.parse.character_encoding_default
        self._seconds = _seconds(self._settings.timeout, setup.config.parse.timeout)
        self._program = _program(self._settings.command)
        self.media_types = tuple(name.lower() for name in self._settings.media_types)

    def parse(self, content: Content) -> Sequence[Page]:
        with tempfile.TemporaryDirectory(prefix="scoter-") as folder:
            ended = self._run(content, Path(folder))
        page = self._page_of(content, ended)
        return (page,) if page.doubt or page.text or page.title or page.outlinks else ()

    def _run(self, content: Content, folder: Path) -> CommandResult:
        # The content type comes from the server and must not be mistaken for an option.
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

    def _page_of(self, content: Content, ended: CommandResult) -> Page:
        if self._settings.output == "html":
            markup = replace(content, media_type=HTML, body=ended.output, encoding="")
            page = self._html.parse(markup)[0]
            return replace(page, media_type=content.media_type, doubt=ended.doubt or page.doubt)
        if self._settings.output == "json":
            return self.page(content, _answer(ended))
        text = decode_page(ended.output, "", self._default, markup=False).utf8.decode()
        return self.page(content, DocumentContent(text=text, doubt=ended.doubt))


def _answer(ended: CommandResult) -> DocumentContent:
    try:
        answer = msgspec.json.decode(ended.output, type=_JsonDocument)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return DocumentContent(doubt=ended.doubt or f"the command wrote invalid JSON: {error}")
    return DocumentContent(
        text=answer.text,
        links=tuple(DocumentLink(link.url, link.anchor) for link in answer.links),
        about=about("content", title=answer.title),
        metadata=answer.metadata,
        doubt=ended.doubt,
    )


def _program(command: Sequence[str]) -> str:
    if not command:
        raise ConfigError(
            "the parser command has no command configured",
            where=_TABLE,
            hint='Set command = ["pdftotext", "{file}", "-"], or remove "command" from parse.parsers.',
        )
    found = shutil.which(command[0])
    if found is None:
        raise ConfigError(
            f"the program {command[0]!r} was not found or is not executable",
            where=f"{_TABLE}.command",
            hint="Install it, give its full path, or remove 'command' from parse.parsers.",
        )
    return str(Path(found).absolute())


def _seconds(own: timedelta, whole: timedelta | None) -> float:
    """Return a timeout that ends before the parser process's own, which would leave the program running."""
    return (own if whole is None else min(own, max(whole - _MARGIN, whole / 2))).total_seconds()


class CommandResult(Struct, frozen=True):
    """The output of a program and what went wrong, if anything."""

    output: bytes
    doubt: str = ""


def run(command: Sequence[str], given: bytes, *, folder: Path, seconds: float, most: int) -> CommandResult:
    """Run a program within its timeout and output limit."""
    until = time.monotonic() + seconds
    output, complaints = bytearray(), bytearray()
    try:
        child = subprocess.Popen(  # noqa: S603 - the configured program, without a shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TMPDIR": str(folder)},
            start_new_session=True,
        )
    except OSError as error:
        return CommandResult(b"", f"the command could not be started: {error.strerror}")
    try:
        _bound(child.pid, seconds)
        if _exchange(child, given, output, complaints, until, most):
            doubt = _failure(child.wait(max(0.0, until - time.monotonic())), complaints)
        else:
            doubt = "the command exceeded its output limit"
    except (TimeoutError, subprocess.TimeoutExpired):
        doubt = f"the command took longer than {seconds:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        child.wait()
    return CommandResult(bytes(output[:most]), doubt)


def _bound(process: int, seconds: float) -> None:
    """Limit CPU time: if this process is killed, nobody else ends the child."""
    if hasattr(resource, "prlimit"):
        most = int(seconds) + 2
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(process, resource.RLIMIT_CPU, (most, most))


def _exchange(
    child: subprocess.Popen[bytes], given: bytes, output: bytearray, complaints: bytearray, until: float, most: int
) -> bool:
    """Exchange bytes with a child process without blocking on either side; return whether its output is whole."""
    rest = memoryview(given)
    with selectors.DefaultSelector() as selector:
        for pipe, found in ((child.stdin, None), (child.stdout, output), (child.stderr, complaints)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_WRITE if found is None else selectors.EVENT_READ, found)
        while selector.get_map():
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                if key.data is not None:
                    piece = os.read(key.fd, _PIECE)
                    key.data.extend(piece)
                    if not piece:
                        selector.unregister(key.fileobj)
                    continue
                with contextlib.suppress(BlockingIOError):
                    try:
                        rest = rest[os.write(key.fd, rest[:_PIECE]) :]
                    except BrokenPipeError:  # it stopped reading its input
                        rest = memoryview(b"")
                if not rest and child.stdin is not None:
                    selector.unregister(child.stdin)
                    child.stdin.close()
            del complaints[_MOST_COMPLAINTS:]
            if len(output) > most:
                return False
    return True


def _failure(code: int, complaints: bytearray) -> str:
    if code == 0:
        return ""
    complaint = complaints.decode("utf-8", "replace").strip().partition("\n")[0]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the command ended with {how}: {complaint}".rstrip(": ")
