"""The command `scoter`: the table of commands, and how an error ends."""

from __future__ import annotations

import atexit
import gc
import io
import os
import select
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from importlib import import_module
from typing import Any, NoReturn

import click

from scoter.cli.invocation import Invocation, common_options, invocation
from scoter.errors import UsageError, UserError

# Name → module and one sentence. Modules are imported when their command is used, so that `scoter --help` and every
# short command start at once. A test holds the sentences against the commands' own.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Crawl": {
        "crawl": ("crawl", "Crawl from seeds in rounds, or go on with a crawl."),
    },
    "Live": {
        "serve": ("serve", "Run the live service: messages in, what their links are out."),
        "submit": ("submit", "Submit texts and URLs to the live service."),
        "lookup": ("lookup", "Show what the live service knows of URLs."),
        "watch": ("watch", "Show what becomes of URLs, as it happens."),
        "backup": ("backup", "Copy what a live service must not lose, while it runs."),
    },
    "Step by step": {
        "inject": ("inject", "Put seed URLs into the crawldb."),
        "sitemap": ("sitemap", "Put the URLs of sitemaps into the crawldb."),
        "generate": ("generate", "Make segments of the URLs that are due."),
        "freegen": ("freegen", "Make a segment of the URLs in files, whatever the crawldb says."),
        "fetch": ("fetch", "Fetch a segment, or what is left of it."),
        "parse": ("parse", "Parse the pages of fetched segments."),
        "updatedb": ("updatedb", "Bring what segments found into the crawldb."),
        "invertlinks": ("invertlinks", "Bring the links of segments into the linkdb."),
        "dedup": ("dedup", "Mark pages of the same content as duplicates."),
    },
    "Look at a crawl": {
        "readdb": ("readdb", "Show what the crawldb knows: statistics, one URL, the best, or all."),
        "readseg": ("readseg", "Show what lies in segments."),
        "readlinkdb": ("readlinkdb", "Show who links to a URL, or the whole linkdb."),
        "domainstats": ("domainstats", "Count pages by host, domain, suffix or top-level domain."),
        "protocolstats": ("protocolstats", "Count what the fetches of segments led to."),
        "crawlcomplete": ("crawlcomplete", "Count fetched and unfetched URLs by host or domain."),
        "sql": ("sql", "Ask the tables of a crawl or a service by SQL."),
        "report": ("report", "Answer common questions about a service or a crawl."),
        "explain": ("explain", "Tell all that is known of a URL, and why it was fetched or not."),
    },
    "Care for crawls": {
        "mergedb": ("mergedb", "Merge the crawldbs of several crawls into a new one."),
        "mergelinkdb": ("mergelinkdb", "Merge the linkdbs of several crawls into a new one."),
        "mergesegs": ("mergesegs", "Merge segments into new ones."),
        "prune": ("prune", "Remove old segments and versions of tables."),
    },
    "Check what the rules do": {
        "parsechecker": ("parsechecker", "Show what is read of a page: type, text, metadata, links, and why."),
        "filterchecker": ("filterchecker", "Show what each URL filter of the chain says of URLs."),
        "normalizerchecker": ("normalizerchecker", "Show what each URL normaliser of the chain makes of URLs."),
        "robotschecker": ("robotschecker", "Show what a robots.txt allows, and by which line."),
    },
    "Set up": {
        "config": ("config", "Show the configuration, or translate one from Nutch."),
        "plugin": ("plugin", "List plug-ins, or run one."),
    },
    "Try": {
        "simweb": ("simweb", "Serve a synthetic web on loopback, for trials, tests and benchmarks."),
    },
}
MODULES = {name: found for group in COMMANDS.values() for name, found in group.items()}

_STAY = 50_000  # objects, before garbage is looked for
INTERRUPTED = 130
DEFECT = 70


class Scoter(click.Group):
    """The group of all commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        found: click.Command = import_module(f"scoter.cli.{MODULES[cmd_name][0]}").command
        if not getattr(found, "is_prepared", False):
            _with_common_options(found)
            found.is_prepared = True  # type: ignore[attr-defined]
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in MODULES and not args[0].startswith("-"):
            from scoter.errors import nearest

            close = nearest(args[0], MODULES)
            raise click.UsageError(
                f"there is no command {args[0]!r}" + (f"; did you mean {close!r}?" if close else ""), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, sentence) for name, (_, sentence) in commands.items()])


@click.group(cls=Scoter, params=common_options(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="scoter", message="scoter %(version)s")
def scoter() -> None:
    """Crawl the web politely, in batches or live.

    Data goes to stdout, progress and messages to stderr. The options below stand before or after a command.

    \b
    Exit codes: 0 done · 1 nothing to do · 2 a mistake in what was asked
                70 a defect in Scoter · 130 interrupted

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit."""
    _start_quickly()
    said = Invocation()
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments), said))


def _start_quickly() -> None:
    """Spare a command what costs it a third of its start and end, and gives it nothing."""
    # What is loaded stays, and looking for garbage among it finds none; nor does it when the interpreter ends.
    gc.set_threshold(_STAY, 20, 100)
    atexit.unregister(gc.freeze)  # once is enough, however often a process runs commands
    atexit.register(gc.freeze)
    # numpy comes with a library that starts a thread a core, for matrices that nobody multiplies here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow asks this before it begins, and never again; store/arrow.py tells why.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def _run(arguments: list[str], said: Invocation) -> int:
    try:
        if sys.stdout is None or sys.stderr is None:
            raise UsageError("standard output and standard error must be open")
        _print_what_can_be_printed()
        # Not click's main(): it ends a broken pipe as an error of its own.
        with scoter.make_context("scoter", arguments or ["--help"], obj=said) as context:
            outcome = scoter.invoke(context)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError as error:
        if not _reader_has_left():  # some other pipe, such as that of a process of ours
            return _defect(error, said)
        # As `head` does; python would complain about stdout once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.ClickException as error:
        return _fail(error, _usage_text(error), said)
    except UserError as error:
        return _fail(error, str(error), said)
    except OSError as error:  # a full disk behind stdout, a terminal that went away
        return _fail(error, f"{error.filename or 'standard output'}: {error.strerror or error}", said)
    except Exception as error:
        return _defect(error, said)


def _reader_has_left() -> bool:
    poller = select.poll()
    poller.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))


def _defect(error: Exception, said: Invocation) -> int:
    _fail(error, f"this is a defect in Scoter: {type(error).__name__}: {error}", said)
    if not said.debug:
        _tell("Run the command again with --debug to see where it happened.")
    return DEFECT


def _print_what_can_be_printed() -> None:
    """Let a terminal or a locale that lacks a character show ? for it: that is no reason to end."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
        out.reconfigure(errors="replace")


def _fail(error: BaseException, text: str, said: Invocation) -> int:
    if said.debug:
        import traceback

        traceback.print_exception(error)
    _tell(f"scoter: {text}")
    return 2


def _tell(text: str) -> None:
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    context = getattr(error, "ctx", None)
    return f"{text}\nTry `{context.command_path} --help`." if context is not None else text


def _with_common_options(command: click.Command) -> None:
    """Give a command, and those below it, the options that may stand after its name too, and a sound configuration."""
    known = {name for parameter in command.params for name in parameter.opts}
    command.params += [each for each in common_options() if not known & set(each.opts)]
    below: dict[str, Any] = getattr(command, "commands", {})
    for each in below.values():
        _with_common_options(each)
    if not below and command.callback is not None:
        command.callback = _with_sound_config(command.callback)


def _with_sound_config(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that tells of mistakes in the configuration first, whether it needs the setting or not."""

    @wraps(work)
    def checked(*arguments: Any, **options: Any) -> Any:
        from scoter.plugins import check_tables

        check_tables(invocation().config)
        return work(*arguments, **options)

    return checked


if __name__ == "__main__":
    main()
