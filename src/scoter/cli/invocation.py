"""Options that several commands share, and the configuration they lead to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from scoter.cli.output import note, visible
from scoter.errors import UsageError, UserError

if TYPE_CHECKING:
    from datetime import timedelta

    from scoter.config import Config, Loaded

DEFAULT_FILE = Path("scoter.toml")
INTERRUPTED = 130
NOTHING_TO_DO = 1
"""Exit code of a command that found nothing to do."""
_LARGEST_COUNT = 10**12  # more than any crawl holds; engines and libraries only count to 2**63

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Invocation:
    """The values of the options that every command takes."""

    def __init__(self) -> None:
        self.arguments: tuple[str, ...] = ()
        self.config_file: Path | None = None
        self.crawl_settings: Path | None = None
        self.overrides: list[str] = []
        self.trust_settings = False
        self.exact = False
        self.json = False
        self.quiet = False
        self.debug = False
        self._loaded: Loaded | None = None
        self._has_warned = False

    def override(self, setting: str) -> None:
        """Override one setting, as ``-D`` does."""
        self.overrides.append(setting)
        self._loaded = None

    def use_crawl(self, directory: str) -> None:
        """Start from the settings that a crawl was started with, if the directory holds a crawl."""
        from scoter.config.sources import CRAWL_SETTINGS
        from scoter.store.objects.copies import local_file
        from scoter.store.objects.path import any_path

        with suppress(OSError, UserError):  # the command reports it
            crawl = any_path(directory)
            if (crawl / CRAWL_SETTINGS).is_file() and (crawl / "crawl.json").is_file():
                self.crawl_settings = Path(local_file(str(crawl / CRAWL_SETTINGS), refresh=True))
                self._loaded = None

    def loaded(self) -> Loaded:
        """Return the effective configuration with the origin of each value."""
        if self._loaded is None:
            from scoter.cli.own_settings import is_own_settings
            from scoter.config import load_with_origins

            # A file in a crawl directory is not the user's own, even if the user works there.
            is_own = DEFAULT_FILE.is_file() and not DEFAULT_FILE.with_name("crawl.json").exists()
            file = self.config_file or (DEFAULT_FILE if is_own else None)
            recorded = self.crawl_settings
            trusts = self.trust_settings or (recorded is not None and is_own_settings(recorded))
            self._loaded = load_with_origins(file, os.environ, self.overrides, crawl=recorded, trusts_crawl=trusts)
        return self._loaded

    def warn_of_ignored_settings(self) -> None:
        """Print which settings of the crawl directory are not used."""
        if ignored := self.loaded().ignored:
            names = ", ".join(visible(item.name) for item in ignored)
            file = visible(str(self.crawl_settings))
            note(
                f"Ignored settings of {file}, which a crawl directory may not set: {names}."
                " To use them, give them again (-D, -c), or pass --trust-settings if you trust the directory."
            )

    def warn_of_former_names(self) -> None:
        """Print, once, which settings were given by a name of an earlier version, and their names now."""
        if self._has_warned or not (renamed := self.loaded().renamed):
            return
        self._has_warned = True
        changes = ", ".join(f"{each.former} is now {each.name} ({visible(str(each.origin))})" for each in renamed)
        note(f"Renamed settings: {changes}. The former names will stop working in the next version.")

    @property
    def config(self) -> Config:
        return self.loaded().config


def invocation() -> Invocation:
    """Return the running command's invocation."""
    found = click.get_current_context().find_root().obj
    assert isinstance(found, Invocation)  # noqa: S101 - main() puts it there
    return found


def remark(text: str) -> None:
    """Print a message for a person to stderr, unless ``--quiet`` was given."""
    if not invocation().quiet:
        note(text)


def common_options() -> list[click.Parameter]:
    """Return the options that every command takes; click needs new objects for each command."""
    return [
        click.Option(
            ["-c", "--config", "config_file"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            expose_value=False,
            callback=_remember,
            help="Read settings from this TOML file (default: ./scoter.toml, if it exists).",
        ),
        click.Option(
            ["-D", "overrides"],
            multiple=True,
            metavar="SECTION.KEY=VALUE",
            expose_value=False,
            callback=_remember,
            help="Override a setting; can be repeated.",
        ),
        _flag("--trust-settings", "Use all settings of the crawl directory, also those that name programs or files."),
        _flag("--json", "Print JSON, one object per line."),
        _flag("--quiet", "Print only results."),
        _flag("--debug", "Show tracebacks."),
    ]


def setting_option(name: str, setting: str, text: str, *, metavar: str | None = None, kind: Any = None) -> Decorator:
    """Add an option that overrides one setting."""

    def override(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            context.ensure_object(Invocation).override(f"{setting}={json.dumps(value)}")

    help_text = f"{text} ({setting})."
    return click.option(name, type=kind, metavar=metavar, expose_value=False, callback=override, help=help_text)


log_option = setting_option(
    "--log-format",
    "web.log_format",
    "Log lines of text, or a JSON object per line",
    kind=click.Choice(["text", "json"]),
)
agent_option = setting_option("--agent", "agent.name", "Name of the crawler in its requests", metavar="NAME")


def off_switch(name: str, text: str, *, default: bool | None = True) -> Decorator:
    """Add an option ``--no-NAME`` that sets the parameter NAME to false."""
    return click.option(f"--no-{name}", name, is_flag=True, flag_value=False, default=default, help=text)


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--server`` and ``--key``, and name the server in client errors."""

    @wraps(command)
    def with_server(*arguments: Any, **options: Any) -> Any:
        from scoter.client import ClientError

        try:
            return command(*arguments, **options)
        except ClientError as error:
            error.where = error.where or options["server"]
            raise

    key = click.option(
        "--key", envvar="SCOTER_KEY", default="", metavar="KEY", help="API key, if the service needs one (SCOTER_KEY)."
    )
    server = click.option(
        "--server",
        envvar="SCOTER_SERVER",
        default="http://127.0.0.1:8008",
        show_default=True,
        metavar="URL",
        help="Address of the service (SCOTER_SERVER).",
    )
    return server(key(with_server))


def only_with(other: str, is_given: bool, *options: str) -> None:
    """Reject options of the running command that have no meaning without another option."""
    context = click.get_current_context()
    for each in () if is_given else context.command.params:
        name = each.opts[0]
        if name in options and context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE:
            raise UsageError(f"can only be used with {other}", where=name, hint=f"See {context.command_path} --help")


class AtMost(click.IntRange):
    """An upper limit for a count; larger values than any crawl can reach mean no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number: int = super().convert(value, param, ctx)
        return min(number, _LARGEST_COUNT)


class Duration(click.ParamType["timedelta"]):
    """A duration with its unit, such as ``5s``; ``unit_required`` rejects plain numbers of seconds."""

    name = "time"

    def __init__(self, *, unit_required: bool = False) -> None:
        self._unit_required = unit_required

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        from scoter.config.units import read_duration

        try:
            if self._unit_required and value.strip()[-1:] in set("0123456789.") and value.strip("0. "):
                # Settings read this as seconds; a user of `prune` who means days would lose all segments.
                raise ValueError("has no unit")
            return read_duration(value)
        except ValueError as error:
            where = param.opts[0] if param is not None else ""
            examples = "12h, 30d or 8w" if self._unit_required else "500ms, 5s, 2m, 12h or 30d"
            raise UsageError(f"{value!r} {error}", where=where, hint=f"For example: {examples}") from None


def duration_option(name: str, default: str, text: str) -> Decorator:
    """Add an option that takes a duration."""
    return click.option(name, type=Duration(), default=default, show_default=True, metavar="TIME", help=text)


def _flag(name: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, callback=_remember, help=text)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if not value:
        return
    options = context.ensure_object(Invocation)
    if parameter.name == "overrides":
        options.overrides.extend(value)
    else:
        setattr(options, parameter.name or "", value)
