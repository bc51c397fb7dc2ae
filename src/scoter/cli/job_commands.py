"""The commands that `scoter ui` can run as jobs, with their options derived from the click commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from scoter.batch.api.commands import OrderError
from scoter.batch.api.records import MAX_SEEDS, CommandInfo, CommandOption
from scoter.batch.crawldir.directory import MARKER
from scoter.cli.former_names import CommandWithFormerOptions
from scoter.cli.invocation import Invocation
from scoter.cli.main import COMMANDS, MODULES, load_command
from scoter.config.sections import former_names
from scoter.config.sources import PREFIX
from scoter.config.trust import settable_by_others
from scoter.errors import UrlError, UserError, did_you_mean

JOB_COMMANDS = (
    *("crawl", *COMMANDS["Batch crawl step by step"], "checksite", "export", "corpus"),
    *("merge", "mergedb", "mergelinkdb", "mergesegs", "compact", "prune", "import-nutch-crawl"),
)
_READS = "it only reads; the API has paths for what it shows"
NOT_JOBS = {
    "ui": "it is this server",
    "search": "GET …/search",
    "search-server": "it is a server of its own",
    "search-site": "its files are for another web server",
    "sql": "POST …/sql",
    "report": "GET …/reports",
    "explain": "GET …/url",
    **dict.fromkeys(
        (
            *("readdb", "readseg", "readlinkdb", "readhostdb", "readwebgraph", "nodedumper"),
            *("domainstats", "protocolstats", "crawlcomplete"),
        ),
        _READS,
    ),
}
"""Commands for batch crawls that cannot be run as jobs, and why."""
_CRAWL_ARGUMENTS = dict.fromkeys(("merge", "mergedb", "mergelinkdb", "mergesegs"), "out")
"""The argument that is the crawl of the job, where it is not ``directory``."""
EXPORTS = "exports"
"""The folder within a crawl for what jobs export."""
_URL_LISTS = {"seeds", "urls", "files"}
"""Arguments that name URLs or files of them: over HTTP they are lists of URLs, which the server writes to a file."""
_NAMES = {"segment": "segment", "segments": "segment", "directories": "crawl", "out": "new folder", "nutch": "folder"}
"""Arguments that are names of something within the folder of crawls, and of what."""
_HELP = {
    "directories": "Names of other crawls, which are read.",
    "nutch": "Name of a folder beside the crawls that holds Nutch's crawldb and segments.",
    "allow_seeds": "The seeds may be on private hosts and unusual ports, such as http://localhost:8000/; what they lead"
    " to may not. Only administrators see this.",
    "out": f"Name of a new folder below {EXPORTS}/ in the crawl; the same name continues an interrupted run.",
}
_HIDDEN = {"directory", "hosts"}
"""Parameters that name files of the server."""
_KINDS = {"BoolParamType": "boolean", "IntParamType": "integer", "IntRange": "integer", "AtMost": "integer"} | {
    "FloatParamType": "number",
    "FloatRange": "number",
}
_LONGEST_TEXT = 2_000


class ClickCatalogue:
    """The port ``batch.api.commands.CommandCatalogue`` over the commands of this program."""

    def __init__(self, given: Invocation) -> None:
        """``given`` has the settings of the server, which apply to every job."""
        self._given = given
        self._commands = {name: _info(name) for name in JOB_COMMANDS}
        self._settings = settable_by_others()

    def commands(self) -> Sequence[CommandInfo]:
        return list(self._commands.values())

    def settings(self) -> Sequence[str]:
        return self._settings

    def arguments(
        self,
        command: str,
        directory: Path,
        options: Mapping[str, Any],
        settings: Mapping[str, Any],
        save_list: Callable[[str, Sequence[str]], Path],
    ) -> Sequence[str]:
        if command not in self._commands:
            message = f"there is no command {command!r}{did_you_mean(command, self._commands)}"
            raise OrderError(message, pointer="/command", accepted=list(self._commands))
        known = {option.name: option for option in self._commands[command].options}
        options, former = _by_present_names(load_command(command), options)
        for name in options:
            if name not in known:
                message = f"{command} has no option {name!r}{did_you_mean(name, known)}"
                raise OrderError(message, pointer=f"/options/{name}", accepted=list(known))
        for option in known.values():
            if option.required and option.name not in options:
                raise OrderError(f"{command} needs {option.name}", pointer="/options", accepted=[option.name])
        overrides = [self._override(name, value) for name, value in settings.items()]
        before: list[str] = []
        last: list[str] = []
        crawl = _CRAWL_ARGUMENTS.get(command, "directory")
        for parameter in load_command(command).params:
            name = _option_name(parameter)
            if name == crawl:
                last.append(str(directory))
            elif name in options:
                value = _checked(known[name], options[name])
                into = last if isinstance(parameter, click.Argument) else before
                words = _argument(parameter, value, directory, save_list)
                # By its former name, so that the job warns.
                into += (word.replace(parameter.opts[0], former.get(name, parameter.opts[0]), 1) for word in words)
        arguments = ["--json", *before, "--", *last]
        self._parse(command, [*overrides, *arguments], directory, settings)
        return [command, *arguments]

    def environment(self, settings: Mapping[str, Any]) -> Mapping[str, str]:
        given = [
            *self._overrides_besides(settings),
            *(self._override(name, value)[2:] for name, value in settings.items()),
        ]
        found: dict[str, str] = {}
        for each in given:
            name, _, text = each.partition("=")
            found[PREFIX + name.strip().upper().replace("-", "_").replace(".", "__")] = text.strip()
        return found

    def _overrides_besides(self, settings: Mapping[str, Any]) -> list[str]:
        """Return the settings of the server without those that a job sets, by whichever of their names."""
        set_by_job = {_present_name(name) for name in settings}
        return [each for each in self._given.overrides if _present_name(each.partition("=")[0]) not in set_by_job]

    def _override(self, name: str, value: Any) -> str:
        if _present_name(name) not in self._settings:
            message = f"{name!r} is not a setting that jobs accept{did_you_mean(name, self._settings)}"
            raise OrderError(message, pointer=f"/settings/{name}", accepted=self._settings)
        return f"-D{name}={value if isinstance(value, str) else json.dumps(value)}"

    def _parse(self, command: str, arguments: list[str], directory: Path, settings: Mapping[str, Any]) -> None:
        """Let click and the configuration check what the job will be given."""
        from scoter.cli.main import scoter

        given = Invocation()
        given.quiet = True
        given.config_file = self._given.config_file
        given.overrides = self._overrides_besides(settings)
        given.trust_settings = self._given.trust_settings
        try:
            with scoter.make_context("scoter", ["--quiet"], obj=given, resilient_parsing=True) as root:
                found = scoter.get_command(root, command)
                assert found is not None  # noqa: S101 - it is one of JOB_COMMANDS
                with found.make_context(command, list(arguments), parent=root):
                    given.use_crawl(str(directory))
                    given.loaded()
        except click.ClickException as error:
            pointer = _pointer(error)
            raise OrderError(error.format_message(), pointer=pointer) from error
        except UserError as error:
            raise OrderError(" ".join(str(error).split()), pointer="/settings" if settings else "/options") from error


def _by_present_names(command: click.Command, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return options by their present names, and the former names of those that were given by one."""
    options, former = dict(given), {}
    formerly = command.formerly if isinstance(command, CommandWithFormerOptions) else {}
    for old, new in formerly.items():
        old_name, name = _json_name(old), _json_name(new)
        if old_name in options:
            if name in options:
                raise OrderError(f"{old_name} is now {name}, which is given too", pointer=f"/options/{old_name}")
            options[name] = options.pop(old_name)
            former[name] = old
    return options, former


def _present_name(setting: str) -> str:
    return former_names().get(setting.strip(), setting.strip())


def _info(name: str) -> CommandInfo:
    command = load_command(name)
    common = {"-c", "-D", "--trust-settings", "--json", "--quiet", "--debug", "--help"}
    hidden = _HIDDEN | {_CRAWL_ARGUMENTS.get(name, "directory")}
    options = [
        _option(parameter)
        for parameter in command.params
        if not common & set(parameter.opts) and _option_name(parameter) not in hidden
    ]
    return CommandInfo(name=name, summary=MODULES[name][1], options=options)


def _option(parameter: click.Parameter) -> CommandOption:
    kind = parameter.type
    is_list = parameter.multiple or parameter.nargs == -1
    name = _KINDS.get(type(kind).__name__, "string")
    default = parameter.default
    is_plain = isinstance(default, bool | int | float | str) and not is_list
    return CommandOption(
        name=_option_name(parameter),
        type="array" if is_list else name,  # type: ignore[arg-type]  # one of the values above
        help=_HELP.get(_option_name(parameter)) or getattr(parameter, "help", None) or "",
        accepted=tuple(map(str, kind.choices)) if isinstance(kind, click.Choice) else (),
        minimum=getattr(kind, "min", None),
        maximum=getattr(kind, "max", None),
        # A switch that is not given is off, whatever value it stands for.
        default=(False if _is_switch(parameter) else default) if is_plain else None,
        required=parameter.required,
    )


def _is_switch(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.is_flag and not parameter.secondary_opts


def _option_name(parameter: click.Parameter) -> str:
    """Return the name of an option in JSON: `--top-n` is ``top_n``."""
    return _json_name(parameter.opts[0])


def _json_name(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _checked(option: CommandOption, value: Any) -> Any:
    """Return a value if it has the JSON type of its option."""
    kinds: dict[str, type | tuple[type, ...]] = {
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "string": str,
        "array": list,
    }
    is_right = isinstance(value, kinds[option.type]) and (option.type == "boolean" or not isinstance(value, bool))
    pointer = f"/options/{option.name}"
    if not is_right:
        raise OrderError(f"{option.name} must be of the type {option.type}", pointer=pointer, accepted=[option.type])
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    if len(texts) > MAX_SEEDS:
        raise OrderError(f"{option.name} has more than {MAX_SEEDS:,} entries", pointer=pointer)
    for text in texts:
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT * 4 or any(sign in text for sign in "\0\n\r"):
            raise OrderError(f"{option.name} must consist of single lines of text", pointer=pointer)
    if option.accepted and value not in option.accepted:
        accepted = ", ".join(option.accepted)
        raise OrderError(f"{option.name} must be one of: {accepted}", pointer=pointer, accepted=option.accepted)
    return value


def _argument(
    parameter: click.Parameter, value: Any, directory: Path, save_list: Callable[[str, Sequence[str]], Path]
) -> Iterator[str]:
    """Yield the words of the command line for one parameter."""
    name = _option_name(parameter)
    if name in _URL_LISTS:
        yield str(save_list(name, _urls(value, f"/options/{name}"))) if value else ""
    elif isinstance(parameter, click.Argument):
        for each in value if isinstance(value, list) else [value]:
            if name in _NAMES and (not each or each.startswith((".", "-")) or "/" in each):
                raise OrderError(f"{each!r} is not the name of a {_NAMES[name]}", pointer=f"/options/{name}")
            yield str(_place(name, each, directory))
    elif isinstance(parameter, click.Option) and parameter.is_flag:
        if parameter.secondary_opts:
            yield (parameter.opts if value else parameter.secondary_opts)[0]
        elif value:
            yield parameter.opts[0]
    else:
        for each in value if isinstance(value, list) else [value]:
            yield f"{parameter.opts[0]}={each}"


def _place(argument: str, name: str, directory: Path) -> Path | str:
    """Return what a name stands for; neither another crawl nor an export is a link that leads elsewhere."""
    if argument == "directories":
        path = directory.parent / name
        if path == directory or path.is_symlink() or not path.is_dir():
            raise OrderError(f"there is no other crawl named {name!r}", pointer=f"/options/{argument}")
        return path
    if argument == "nutch":
        path = directory.parent / name
        if path == directory or path.is_symlink() or not path.is_dir():
            known = _folders_beside(directory)
            raise OrderError(f"there is no folder named {name!r}", pointer=f"/options/{argument}", accepted=known)
        return path
    if argument == "out":
        path = directory / EXPORTS / name
        if path.is_symlink() or path.parent.is_symlink():
            raise OrderError(f"{name!r} is a link", pointer=f"/options/{argument}")
        return path
    return name


def _folders_beside(directory: Path) -> list[str]:
    """Return the names of the folders beside the crawls that are no crawls themselves."""
    found = (each for each in directory.parent.iterdir() if each.is_dir() and not each.is_symlink())
    return sorted(each.name for each in found if each.name[0] != "." and not (each / MARKER).exists())


def _urls(values: Sequence[str], pointer: str) -> Sequence[str]:
    from scoter.core.url import canonical

    for number, text in enumerate(values):
        try:
            url = canonical(text.split("\t")[0])
        except UrlError as error:
            raise OrderError(f"{text[:200]!r} is not a URL: {error.message}", pointer=f"{pointer}/{number}") from error
        if url.text.startswith("file:"):
            raise OrderError("files of the server cannot be crawled", pointer=f"{pointer}/{number}")
    return values


def _pointer(error: click.ClickException) -> str:
    parameter = getattr(error, "param", None)
    return f"/options/{_option_name(parameter)}" if isinstance(parameter, click.Parameter) else "/options"
