"""Show how a page is parsed: type, text, metadata, links, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.files import read_bytes, read_urls
from scoter.cli.invocation import NOTHING_TO_DO, Invocation, agent_option, invocation, remark
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.cli.parsecheck.document import CheckedDocument
    from scoter.cli.parsecheck.examination import Examination
    from scoter.core.url import Url

_STDIN = ("-", "/dev/stdin")
# Off in a crawl by default, because they take time.
_SHOWN_SETTINGS = {"parse.metadata": "true", "parse.markdown": "true", "parse.main_text": "true"}


def document_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a document is fetched or read."""
    for option in (
        click.option("--follow-redirects", is_flag=True, help="Follow up to five redirects."),
        click.option("--force-as", metavar="TYPE", default="", help="Treat the document as this media type."),
        click.option("--as-url", metavar="URL", help="URL of a file: its links are relative to this."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("document", metavar="[URL-OR-FILE]", default="")
@click.option("--stdin", is_flag=True, help="Check the URLs and files listed on stdin, one per line.")
@document_options
@click.option("--check-robots", is_flag=True, help="Show details about robots.txt.")
@click.option("--all-links", is_flag=True, help="Show all links, not only the first 40.")
@click.option("--dump-text", "text", is_flag=True, help="Print only the text of the page.")
@click.option("--main-text", is_flag=True, help="Print only its main text.")
@click.option("--markdown", is_flag=True, help="Print only its main content as Markdown.")
@agent_option
def command(
    document: str,
    stdin: bool,
    as_url: str | None,
    force_as: str,
    follow_redirects: bool,
    check_robots: bool,
    all_links: bool,
    **texts: bool,
) -> int:
    """Show how a page is parsed: type, text, metadata, links, and why.

    A URL is fetched as a crawl would fetch it, obeying robots.txt. A file is read from disk, or from stdin for a dash.
    Metadata, main text and Markdown are shown unless -D turns them off (parse.metadata, parse.main_text,
    parse.markdown). Exit code 1: the page could not be fetched or parsed.

    \b
    Example:
      scoter parsechecker https://example.org/ --agent examplebot
      scoter parsechecker page.html --as-url https://example.org/page.html
      scoter parsechecker report.pdf --dump-text
      scoter parsechecker --stdin --json < urls.txt
    """
    options = invocation()
    only = next((name for name, is_wanted in texts.items() if is_wanted), None)
    _turn_on_settings(options)
    if sum(texts.values()) > 1:
        raise UsageError("--dump-text, --main-text and --markdown cannot be combined")
    if bool(document) == stdin:
        raise UsageError("pass a URL, a file, or --stdin", hint="See scoter parsechecker --help")
    how = (as_url, force_as, follow_redirects, check_robots)
    checked = [_check(options, each, how, all_links, only) for each in (read_urls(()) if stdin else (document,))]
    return 0 if all(checked) else NOTHING_TO_DO


def _check(
    options: Invocation,
    document: str,
    how: tuple[str | None, str, bool, bool],
    all_links: bool,
    only: str | None,
) -> bool:
    """Show a document, and return whether it was parsed."""
    from scoter.cli.parsecheck.examination import as_object, examine

    source = get_document(options, document, *how)
    found = None if source.content is None else examine(options.config, source.content)
    parsed = found is not None and found.failure is None
    if options.json:
        print_json(as_object(source, found))
    elif only is not None and parsed and found is not None:
        _dump(found, only)
    else:
        _show(source, found, all_links, how[-1], only is not None)
    return parsed


def _turn_on_settings(options: Invocation) -> None:
    """Turn on metadata, main text and Markdown, unless ``-D`` turns them off."""
    given = {each.partition("=")[0].strip() for each in options.overrides}
    for name, value in _SHOWN_SETTINGS.items():
        if name not in given and not getattr(options.config.parse, name.removeprefix("parse.")):
            options.override(f"{name}={value}")


def get_document(
    options: Invocation, name: str, as_url: str | None, force_as: str, follows: bool, check_robots: bool = False
) -> CheckedDocument:
    """Fetch the document of a URL politely, or read a file."""
    from scoter.cli.parsecheck import document
    from scoter.core.url import canonical
    from scoter.fetch.pages import MAX_HOPS

    if force_as and ("/" not in force_as or force_as.strip() != force_as):
        raise UsageError(f"{force_as!r} is not a media type", where="--force-as", hint="For example: text/html")
    url = _url(name)
    if url is not None:
        if as_url is not None:
            raise UsageError("can only be used with a file", where="--as-url", hint=f"{name} is a URL.")
        remark(f"Fetching {visible(url.text)} and before it robots.txt, fetch.delay apart")
        return document.fetch(options.config, url, name, hops=MAX_HOPS if follows else 0, force_as=force_as)
    for option, is_given in (("--follow-redirects", follows), ("--check-robots", check_robots)):
        if is_given:
            raise UsageError("can only be used with a URL", where=option, hint=f"{name} is a file.")
    path = Path(name)
    origin = document.file_url(path) if as_url is None else canonical(as_url)
    return document.read(options.config, read_bytes(path), name, origin, force_as)


def _url(document: str) -> Url | None:
    """Return the URL, or ``None`` for a file."""
    if document in _STDIN:
        return None
    if "://" in document and not Path(document).exists():
        from scoter.core.url import canonical

        return canonical(document)
    if not Path(document).exists() and "." in document.partition("/")[0]:
        raise UsageError("there is no such file", where=document, hint=f"For a URL, write https://{document}")
    return None


def _dump(found: Examination, name: str) -> None:
    from scoter.cli.parsecheck.layout import dump, readable

    pages = [page for page in (found.page, *(entry.page for entry in found.entries)) if page is not None]
    for number, page in enumerate(pages):
        if len(pages) > 1:
            click.echo(("\n" if number else "") + readable(f"--- {page.url.text}"))
        dump(getattr(page, name))
    if not any(getattr(page, name) for page in pages):
        note(f"The page has no {name.replace('_', ' ')}.")


def _show(source: CheckedDocument, found: Examination | None, all_links: bool, check_robots: bool, only: bool) -> None:
    from scoter.cli.parsecheck.layout import readable, show
    from scoter.cli.parsecheck.report import lines, verdict

    if only:  # the text to print does not exist, so standard output stays empty
        note(readable(f"{source.url.text}: {verdict(source, found)}"))
        return
    show(lines(source, found, all_links=all_links, robots=check_robots))
