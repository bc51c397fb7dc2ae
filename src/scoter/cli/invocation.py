"""The options that every command takes, before or after its name, and what they lead to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from scoter.cli.output import note
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.config import Config, Loaded

DEFAULT_FILE = Path("scoter.toml")
_COUNTLESS = 10**12  # more than any crawl or log holds; engines and libraries count up to 2**63 only


class Invocation:
    """What was said beside a command's own options; read once, then asked."""

    def __init__(self) -> None:
        self.config_file: Path | None = None
        self.overrides: list[str] = []
        self.json = False
        self.quiet = False
        self.debug = False
        self._loaded: Loaded | None = None

    def override(self, setting: str) -> None:
        """Set one setting, as ``-D`` does: a command's own option for it."""
        self.overrides.append(setting)
        self._loaded = None

    def loaded(self) -> Loaded:
        """Return the effective configuration with its origins."""
        if self._loaded is None:
            from scoter.config import load_with_origins

            file = self.config_file or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)
            self._loaded = load_with_origins(file, os.environ, self.overrides)
            self._warn(self._loaded)
        return self._loaded

    def _warn(self, loaded: Loaded) -> None:
        """Tell of settings that nothing asks for yet, to whoever has set one."""
        from scoter.config.unread import unread_of

        for name in () if self.quiet else unread_of(loaded):
            note(f"scoter: {loaded.origin(name)}: {name} has no effect yet")

    @property
    def config(self) -> Config:
        return self.loaded().config


def invocation() -> Invocation:
    """Return the running command's invocation."""
    found = click.get_current_context().find_root().obj
    assert isinstance(found, Invocation)  # noqa: S101 - main() puts it there
    return found


def common_options() -> list[click.Parameter]:
    """Return new option objects for one more command."""
    return [
        click.Option(
            ["-c", "--config", "config_file"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="Read settings from this TOML file (default: ./scoter.toml if there is one).",
        ),
        click.Option(
            ["-D", "overrides"],
            multiple=True,
            metavar="SECTION.KEY=VALUE",
            expose_value=False,
            callback=_remember,
            help="Set one setting; may be given again.",
        ),
        _flag("--json", "Print JSON, one object a line."),
        _flag("--quiet", "Print results only."),
        _flag("--debug", "Show tracebacks."),
    ]


def only_with(other: str, is_given: bool, *options: str) -> None:
    """Refuse options of the running command that mean nothing without another one."""
    context = click.get_current_context()
    for each in () if is_given else context.command.params:
        name = each.opts[0]
        if name in options and context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE:
            raise UsageError(f"goes with {other} only", where=name, hint=f"Try `{context.command_path} --help`.")


class AtMost(click.IntRange):
    """A number of things at most: one beyond all that there can be limits nothing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        return min(number, _COUNTLESS)


def urls_from(arguments: tuple[str, ...]) -> Iterator[str]:
    """Yield the URLs given as arguments, or those on stdin, one a line, when there are none or a lone dash."""
    if arguments and arguments != ("-",):
        # What is not UTF-8 on the command line stands as half characters, which nothing can print.
        yield from (text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for text in arguments)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("no URLs given", hint="Name them as arguments, or pipe them in, one a line.")
    with open(sys.stdin.fileno(), encoding="utf-8", errors="replace", closefd=False) as lines:
        for line in lines:
            text = line.strip("\r\n")
            if text.strip():
                yield text


def _flag(name: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, callback=_remember, help=text)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if not value:
        return
    said = context.ensure_object(Invocation)
    name = parameter.name or ""
    if name == "overrides":
        said.overrides.extend(value)
    else:
        setattr(said, name, value)
