"""The `scoter` command: the table of subcommands, and how errors become exit codes."""

from __future__ import annotations

import gc
import io
import os
import select
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from scoter import __version__
from scoter.cli.invocation import INTERRUPTED, Invocation, common_options, invocation
from scoter.cli.output import note
from scoter.errors import UsageError, UserError, did_you_mean
from scoter.heap import end_quickly
from scoter.nutch.commands.answers import counterpart, nutch_answer

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Name → module (or module:attribute) and one sentence. A module is imported when its command is used, so that
# `scoter --help` and short commands start at once. A test compares the sentences with the commands' own help.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Batch crawl": {
        "crawl": ("crawl", "Crawl from seeds in rounds, or continue a crawl."),
        "ui": ("ui", "Serve the crawls below a folder over HTTP."),
    },
    "Live service": {
        "serve": ("serve", "Run the live service."),
        "submit": ("submit", "Submit texts and URLs to the live service."),
        "lookup": ("lookup", "Show what the live service knows about URLs."),
        "watch": ("watch", "Show the outcome of each URL as it happens."),
        "backup": ("backup", "Back up a live service while it runs."),
        "live": ("live", "Manage the data of live services."),
    },
    "Batch crawl step by step": {
        "inject": ("inject", "Add seed URLs to the crawldb."),
        "sitemap": ("sitemap", "Add the URLs listed in sitemaps to the crawldb."),
        "generate": ("generate", "Generate segments from the URLs that are due."),
        "freegen": ("generate:freegen", "Generate a segment from lists of URLs, ignoring the crawldb."),
        "fetch": ("fetch", "Fetch a segment, or resume an interrupted fetch."),
        "parse": ("parse", "Parse fetched segments."),
        "updatedb": ("updatedb", "Update the crawldb from fetched segments."),
        "invertlinks": ("invertlinks", "Update the linkdb from parsed segments."),
        "webgraph": ("webgraph:webgraph", "Update the link graph from parsed segments."),
        "linkrank": ("linkrank:linkrank", "Compute ranks over the link graph."),
        "scoreupdater": ("linkrank:scoreupdater", "Write ranks to the scores of the crawldb."),
        "updatehostdb": ("hostdb:updatehostdb", "Update the hostdb: one record per host."),
        "dedup": ("dedup", "Mark pages with the same content as duplicates."),
        "index": ("index:index", "Write the pages of a crawl to its search indexes."),
        "clean": ("index:clean", "Delete pages that are gone from the search indexes."),
    },
    "Use a crawl": {
        "checksite": ("checksite:checksite", "Check the health of a crawled site: links, redirects, titles and more."),
        "search": ("index:search", "Search the pages of a crawl."),
        "search-server": ("site_search:search_server", "Serve the search of a crawl to everybody."),
        "search-site": (
            "site_search:search_site",
            "Write the search of a crawl to files, which need no server.",
        ),
        "export": ("export", "Export the pages of a crawl to files."),
        "corpus": ("corpus:command", "Write the texts of a crawl for a language model."),
    },
    "Inspect a crawl": {
        "readdb": ("readdb", "Show the crawldb: statistics, one URL, the top URLs, or a dump."),
        "readseg": ("readseg", "Show the contents of segments."),
        "readlinkdb": ("readlinkdb", "Show the inlinks of a URL, or dump the linkdb."),
        "readhostdb": ("hostdb:readhostdb", "Show the hosts of a crawl, one host, or a dump of the hostdb."),
        "readwebgraph": ("webgraph:readwebgraph", "Show a node of the link graph and its neighbours."),
        "nodedumper": ("webgraph:nodedumper", "List the nodes with the most links or the highest ranks."),
        "domainstats": ("statistics:domainstats", "Count pages by host, domain, suffix or top-level domain."),
        "protocolstats": ("statistics:protocolstats", "Count the fetch outcomes in segments."),
        "crawlcomplete": ("statistics:crawlcomplete", "Count fetched and unfetched URLs by host or domain."),
        "sql": ("queries:sql", "Query a crawl or a live service with SQL."),
        "report": ("queries:report", "Answer common questions about a live service or a crawl."),
        "explain": ("explain", "Show everything known about a URL, and why it was fetched or not."),
    },
    "Maintain crawls": {
        "merge": ("merge:merge_crawls", "Merge whole crawls into a new one."),
        "mergedb": ("merge:mergedb", "Merge several crawldbs into a new one."),
        "mergelinkdb": ("merge:mergelinkdb", "Merge several linkdbs into a new one."),
        "mergesegs": ("merge:mergesegs", "Merge segments into new ones."),
        "compact": ("compact", "Merge the delta parts of the crawldb into its base."),
        "prune": ("prune", "Remove old segments and table versions."),
        "import-nutch-crawl": ("import_nutch_crawl", "Import a crawl of Apache Nutch 1.x."),
    },
    "Check rules": {
        "parsechecker": ("parsechecker", "Show how a page is parsed: type, text, metadata, links, and why."),
        "indexchecker": ("indexchecker", "Show the document that a page becomes, and which filter set each field."),
        "filterchecker": ("checkers:filterchecker", "Show which URL filters keep or drop URLs."),
        "normalizerchecker": ("checkers:normalizerchecker", "Show how the URL normalisers change URLs."),
        "robotschecker": ("checkers:robotschecker", "Show what a robots.txt file allows, and which line decides."),
    },
    "Set up": {
        "config": ("config", "Show the configuration, or convert one from Nutch."),
        "plugin": ("plugin", "List plug-ins, or run one."),
        "doctor": ("doctor", "Check an installation, a crawl or a live service."),
        "cluster": ("spark_cluster", "Prepare a Spark cluster for Scoter."),
        "completion": (
            "completion",
            "Print a script that makes a shell complete commands, options and file names.",
        ),
    },
    "Try it out": {
        "simweb": ("simweb", "Serve a synthetic web on loopback for trials, tests and benchmarks."),
    },
}
MODULES = {name: found for group in COMMANDS.values() for name, found in group.items()}


DEFECT = 70
_GC_THRESHOLD = 50_000  # new objects before the garbage collector runs


def load_command(name: str) -> click.Command:
    """Import a command of the table."""
    module, _, attribute = MODULES[name][0].partition(":")
    command: click.Command = getattr(import_module(f"scoter.cli.{module}"), attribute or "command")
    return command


class CommandTable(click.Group):
    """The group of all commands; each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        found = load_command(cmd_name)
        if not getattr(found, "is_prepared", False):
            _prepare(found)
            found.is_prepared = True  # type: ignore[attr-defined]
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in MODULES and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}{_suggestion(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        found = [(name, sentence) for name, (_, sentence) in MODULES.items() if name.startswith(incomplete)]
        # Not those of click.Group, which imports the commands.
        return [CompletionItem(name, help=sentence) for name, sentence in found] or super(
            click.Group, self
        ).shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, sentence) for name, (_, sentence) in commands.items()])


@click.group(cls=CommandTable, params=common_options(), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="scoter %(version)s")
def scoter() -> None:
    """Crawl the web politely, in batches or live.

    Results go to stdout, progress and messages to stderr. The options below work before and after the command name.

    \b
    Exit codes: 0 success · 1 nothing to do, or nothing found
                2 wrong usage, settings or input · 70 a bug in Scoter
                130 interrupted

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit."""
    tune_process()
    if instruction := os.environ.get("_SCOTER_COMPLETE"):  # set by the scripts of `scoter completion`
        from scoter.cli.completion import complete

        sys.exit(complete(instruction, scoter, Invocation()))
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments), Invocation()))


class _NoDocumentation(ModuleType):
    """A stand-in for the parser of Arrow's documentation, which finds nothing."""

    @staticmethod
    def NumpyDocString(text: str) -> dict[str, tuple[()]]:  # noqa: N802 - Arrow's name
        return {"Parameters": ()}


def tune_process() -> None:
    """Turn off what would cost a short command a third of its run time."""
    # Modules and their objects live until the end: collecting garbage among them finds nothing.
    gc.set_threshold(_GC_THRESHOLD, 20, 100)
    end_quickly()
    # numpy's OpenBLAS starts one thread per core. Scoter multiplies no matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # When Arrow's functions are loaded, they would read the documentation of all their options.
    sys.modules.setdefault("pyarrow.vendored.docscrape", _NoDocumentation("docscrape"))
    # Arrow reads this only when it is loaded; store/arrow.py gives the reason.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def run(arguments: list[str], options: Invocation) -> int:
    """Run a command and return its exit code."""
    try:
        if sys.stdout is None or sys.stderr is None:
            raise UsageError("standard output and standard error must be open")
        out = sys.stdout
        if isinstance(out, io.TextIOWrapper) and out.errors == "strict":
            out.reconfigure(errors="replace")  # a locale without some character is no reason to fail
        _check_spelling(arguments)
        options.arguments = tuple(arguments)
        # Not click's main(), which reports a broken pipe as an error.
        with scoter.make_context("scoter", arguments or ["--help"], obj=options) as context:
            outcome = scoter.invoke(context)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError as error:
        if not _is_stdout_closed():  # another pipe, for example to a worker process
            return _report_defect(error, options)
        # End quietly, as `head` does. Python would otherwise complain about stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.ClickException as error:
        return _report(error, _usage_text(error), options)
    except UserError as error:
        return _report(error, str(error), options)
    except OSError as error:  # a full disk behind stdout, or a closed terminal
        return _report(error, f"{error.filename or 'standard output'}: {error.strerror or error}", options)
    except Exception as error:
        return _report_defect(error, options)


def _check_spelling(arguments: list[str]) -> None:
    """Answer a command line as Nutch spells it with the right command."""
    answer = nutch_answer(arguments, _takes_value)
    if answer is not None and answer.commands != (tuple(arguments),):
        raise UsageError("this is spelled as in Nutch", hint=str(answer))


def _takes_value(name: str, word: str) -> bool | None:
    """Return whether a word is an option of a command that is followed by a value; ``None`` if it is no option."""
    known = [*load_command(name).params, *common_options()] if name in MODULES else []
    for each in known:
        if isinstance(each, click.Option) and word in (*each.opts, *each.secondary_opts):
            return not each.is_flag and not each.count
    return None


def _suggestion(name: str) -> str:
    """Return the end of a message about an unknown command: its counterpart if Nutch has it, or the nearest name."""
    found = counterpart(name, MODULES)
    if found is None:
        return did_you_mean(name, MODULES)
    note = f" ({found.note})" if found.note and found.command else found.note
    return f" as in Nutch; use scoter {found.command}{note}" if found.command else f" as in Nutch: {note}"


def _is_stdout_closed() -> bool:
    poller = select.poll()
    poller.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))


def _report_defect(error: Exception, options: Invocation) -> int:
    _report(error, f"this is a bug in Scoter: {type(error).__name__}: {error}", options)
    if not options.debug:
        note("Run the command again with --debug to see the traceback.")
    return DEFECT


def _report(error: BaseException, text: str, options: Invocation) -> int:
    if options.debug and sys.stderr is not None:
        import traceback

        traceback.print_exception(error)
    if sys.stderr is not None:
        note(f"scoter: {text}")
    return 2


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    if isinstance(error, click.NoSuchOption) and context.info_name == "search":
        return f"{text}\nTo search for it, write -- before the words: scoter search DIR -- {error.option_name}"
    return f"{text}\nSee {context.command_path} --help"


def _prepare(command: click.Command) -> None:
    """Add the common options to a command and its subcommands, and check the configuration before they run."""
    known = {name for parameter in command.params for name in parameter.opts}
    command.params += [each for each in common_options() if not known & set(each.opts)]
    subcommands: dict[str, Any] = getattr(command, "commands", {})
    for each in subcommands.values():
        _prepare(each)
    if not subcommands and command.callback is not None:
        command.callback = _with_checked_config(command.callback)


def _with_checked_config(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Report mistakes in the configuration first, whether the command uses the setting or not."""

    @wraps(callback)
    def checked(*arguments: Any, **options: Any) -> Any:
        from scoter.plugins import check_tables

        if isinstance(directory := options.get("directory"), str):
            invocation().use_crawl(directory)
            invocation().warn_of_ignored_settings()
        invocation().warn_of_former_names()
        check_tables(invocation().config)
        return callback(*arguments, **options)

    return checked


if __name__ == "__main__":
    main()
