"""Generate the docs page of all commands, and the man page: ``python -m scoter.cli.manual [FOLDER]``.

Both come from the table of commands and the commands' own help.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from scoter import __version__
from scoter.cli.invocation import common_options
from scoter.cli.main import COMMANDS, scoter
from scoter.config.docs import code, markdown_item, markdown_row

PAGE = "commands.md"
MAN_PAGE = "scoter.1"

_INTRODUCTION = """\
# Commands

<!-- Generated from src/scoter/cli by `make docs`; edit the help of the commands there. -->

Find the command for a task. Each explains itself, with examples, and `man scoter` has all of them:

```sh
scoter crawl --help
```

Results go to stdout, progress and messages to stderr.

These options work with every command, before or after its name:

| option | effect |
|---|---|
"""
_REMARKS = """
Exit codes: 0 success · 1 nothing to do, or nothing found · 2 wrong usage, settings or input · 70 a bug in Scoter · 130
interrupted.

Output is coloured on terminals, unless `TERM` is `dumb`. `FORCE_COLOR=1` turns colours on in a pipe, `NO_COLOR=1` turns
them off.

**Completion.** `source <(scoter completion bash)` in `~/.bashrc` completes commands, options and file names with Tab;
`scoter completion --help` says how it is done in zsh and fish.
"""
_ENVIRONMENT = {
    "SCOTER_SECTION__KEY": "Sets the setting section.key, such as SCOTER_FETCH__DELAY=2s.",
    "SCOTER_SERVER, SCOTER_KEY": "Address of the live service, and an API key for it.",
    "FORCE_COLOR, NO_COLOR": "Turn colours on in a pipe, or off.",
}
_FILES = {"./scoter.toml": "Settings, unless --config names another file."}
_SEE_ALSO = "The documentation: https://github.com/scoter-crawler/scoter/tree/main/docs"


def commands_page() -> str:
    """Return docs/commands.md."""
    lines = [_INTRODUCTION.rstrip("\n")]
    for option in common_options():
        names, sentence = _record(option, _context())
        lines.append(markdown_row(code(names), sentence))
    lines.append(_REMARKS.rstrip("\n"))
    for heading, commands in COMMANDS.items():
        lines += ["", f"## {heading}", ""]
        for context in (leaf for name in commands for leaf in _with_subcommands(name)):
            sentence, _, _ = _help(context).partition("\n")
            lines.append(markdown_item(f"{code(context.command_path)}: {sentence} Example: {code(_example(context))}"))
    return "\n".join(lines) + "\n"


def man_page() -> str:
    """Return the man page, in the language of man(7)."""
    root = _context()
    lines = [
        f'.TH SCOTER 1 "" "Scoter {__version__}" "User Commands"',
        *(".SH NAME", r"scoter \- " + _help(root).partition("\n")[0].rstrip(".")),
        *(".SH SYNOPSIS", r".B scoter", "COMMAND [OPTIONS] [ARGUMENTS]", ".SH DESCRIPTION"),
        *_paragraphs(_help(root).partition("\n")[2]),
        ".SH OPTIONS",
        *(line for option in root.command.params for line in _definition(option, root)),
    ]
    common = {name for option in root.command.params for name in option.opts}
    for heading, commands in COMMANDS.items():
        lines.append(f".SH {_escaped(heading).upper()}")
        for context in (leaf for name in commands for leaf in _with_subcommands(name)):
            usage = " ".join(context.command.collect_usage_pieces(context))
            lines += [f".SS {_escaped(context.command_path)} {_escaped(usage)}", *_paragraphs(_help(context))]
            own = [each for each in context.command.params if not common & set(each.opts)]
            lines += [line for option in own for line in _definition(option, context)]
    for title, entries in (("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        lines += [f".SH {title}", *(line for term, text in entries.items() for line in _entry(term, text))]
    return "\n".join([*lines, ".SH SEE ALSO", _escaped(_SEE_ALSO), ""])


def _context() -> click.Context:
    return click.Context(scoter, info_name="scoter")


def _with_subcommands(name: str) -> Iterator[click.Context]:
    """Yield the context of a command, or those of its subcommands."""
    root = _context()
    found = scoter.get_command(root, name)
    assert found is not None  # noqa: S101 - the name is in the table
    context = click.Context(found, info_name=name, parent=root)
    if not isinstance(found, click.Group):
        yield context
    else:
        for each in found.list_commands(context):
            subcommand = found.get_command(context, each)
            if subcommand is not None and not subcommand.hidden:
                yield click.Context(subcommand, info_name=each, parent=context)


def _help(context: click.Context) -> str:
    return inspect.cleandoc(context.command.help or "")


def _example(context: click.Context) -> str:
    _, _, examples = _help(context).partition("Example:\n")
    return re.sub(r"\s+#.*", "", examples.strip().partition("\n")[0].strip())


def _record(parameter: click.Parameter, context: click.Context) -> tuple[str, str]:
    return parameter.get_help_record(context) or ("", "")


def _definition(parameter: click.Parameter, context: click.Context) -> list[str]:
    names, sentence = _record(parameter, context)
    return _entry(names, sentence) if sentence else []


def _entry(term: str, text: str) -> list[str]:
    return [".TP", rf"\fB{_escaped(term)}\fR", *_filled(text)]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a help text: paragraphs after ``\\b`` keep their lines, others are filled."""
    for number, paragraph in enumerate(filter(None, text.strip().split("\n\n"))):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from (".nf", *map(_escaped, paragraph.strip("\b\n").split("\n")), ".fi")
        else:
            yield from _filled(paragraph)


def _filled(text: str) -> list[str]:
    return [_escaped(line) for line in textwrap.wrap(text, 72, break_long_words=False, break_on_hyphens=False)]


def _escaped(text: str) -> str:
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


def main() -> None:
    folder = Path(*sys.argv[1:2] or ("docs",))
    (folder / PAGE).write_text(commands_page(), "utf-8")
    (folder / MAN_PAGE).write_text(man_page(), "utf-8")


if __name__ == "__main__":
    main()
