"""Show what is read of a page: type, text, metadata, links, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.files import read_bytes
from scoter.cli.invocation import Invocation, invocation
from scoter.cli.output import note, print_json, visible
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.cli.checking.examining import Examined
    from scoter.cli.checking.getting import Got
    from scoter.core.url import Url

_STDIN = ("-", "/dev/stdin")
# A crawl has these off, since they take time; whoever looks at one page wants to see them.
_WANTED = {"parse.metadata": "true", "parse.markdown": "true", "parse.extractor": "resiliparse"}


def _named(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Take the agent's name as a setting, before the settings are read."""
    if name:
        context.ensure_object(Invocation).overrides.append(f"agent.name={json.dumps(name)}")


@click.command()
@click.argument("document", metavar="URL-OR-FILE")
@click.option("--as-url", metavar="URL", help="Where a file comes from: its links are relative to this.")
@click.option("--force-as", metavar="TYPE", default="", help="Take it for this media type, whatever it says.")
@click.option("--follow-redirects", is_flag=True, help="Follow redirects, at most five.")
@click.option("--check-robots", is_flag=True, help="Tell at length what robots.txt says.")
@click.option("--all-links", is_flag=True, help="Show every link, and not only the first 40.")
@click.option("--dump-text", "text", is_flag=True, help="Print the text of the page, and nothing else.")
@click.option("--main-text", is_flag=True, help="Print its main text, and nothing else.")
@click.option("--markdown", is_flag=True, help="Print its main content as Markdown, and nothing else.")
@click.option("--agent", metavar="NAME", expose_value=False, callback=_named, help="Who is asking (agent.name).")
def command(
    document: str,
    as_url: str | None,
    force_as: str,
    follow_redirects: bool,
    check_robots: bool,
    all_links: bool,
    **texts: bool,
) -> int:
    """Show what is read of a page: type, text, metadata, links, and why.

    A URL is fetched as a crawl would, by the rules of its robots.txt; a file is read, or standard input for a dash.
    Metadata, main text and Markdown are shown here unless -D turns them off (parse.metadata, parse.extractor,
    parse.markdown). Exit code 1 when the page could not be had or not be parsed.

    \b
    Example:
      scoter parsechecker https://example.org/ --agent examplebot
      scoter parsechecker page.html --as-url https://example.org/page.html
      scoter parsechecker report.pdf --dump-text
    """
    from scoter.cli.checking.examining import examine

    said = invocation()
    _wish(said)
    alone = next((name for name, is_wanted in texts.items() if is_wanted), None)
    if sum(texts.values()) > 1:
        raise UsageError("--dump-text, --main-text and --markdown exclude each other")
    if force_as and ("/" not in force_as or force_as.strip() != force_as):
        raise UsageError(f"{force_as!r} is no media type", where="--force-as", hint="One looks like text/html.")
    got = _get(said, document, as_url, force_as, follow_redirects, check_robots)
    found = None if got.content is None else examine(said.config, got.content)
    parsed = found is not None and found.failure is None
    if said.json:
        from scoter.cli.checking.objects import as_object

        print_json(as_object(got, found))
    elif alone is not None and parsed and found is not None:
        _dump(found, alone)
    else:
        _show(got, found, all_links, check_robots, alone is not None)
    return 0 if parsed else 1


def _wish(said: Invocation) -> None:
    """Turn on what is off unless somebody has said so on the command line."""
    given = {each.partition("=")[0].strip() for each in said.overrides}
    config = said.config
    for name, value in _WANTED.items():
        now = getattr(config.parse, name.removeprefix("parse."))
        if name not in given and now in (False, "none"):
            said.override(f"{name}={value}")


def _get(said: Invocation, document: str, as_url: str | None, force_as: str, follows: bool, check_robots: bool) -> Got:
    from scoter.cli.checking import getting

    url = _url(document)
    if url is not None:
        if as_url is not None:
            raise UsageError("a page that is fetched comes from its own URL", where="--as-url", hint="Leave it out.")
        if not said.quiet:
            note(f"fetching {visible(url.text)}, robots.txt first; fetch.delay is kept between the two")
        return getting.fetch(said.config, url, document, hops=getting.most_hops(follows), force_as=force_as)
    for option, is_given in (("--follow-redirects", follows), ("--check-robots", check_robots)):
        if is_given:
            raise UsageError("only a page that is fetched has that", where=option, hint=f"{document} is a file.")
    from scoter.core.url import canonical

    path = Path(document)
    body = read_bytes(path)
    origin = getting.file_url(path) if as_url is None else canonical(as_url)
    return getting.read(said.config, body, document, origin, force_as)


def _url(document: str) -> Url | None:
    """Return the URL that is meant, or nothing when it is a file."""
    if document in _STDIN:
        return None
    if "://" in document and not Path(document).exists():
        from scoter.core.url import canonical

        return canonical(document)
    if not Path(document).exists() and "." in document.partition("/")[0]:
        hint = f"If it is a URL, say https://{document}"
        raise UsageError("there is no such file", where=document, hint=hint)
    return None


def _dump(found: Examined, name: str) -> None:
    from scoter.cli.checking.lines import dump, readable

    pages = [page for page in (found.page, *(entry.page for entry in found.entries)) if page is not None]
    for number, page in enumerate(pages):
        if len(pages) > 1:
            click.echo(("\n" if number else "") + readable(f"--- {page.url.text}"))
        dump(getattr(page, name))
    if not any(getattr(page, name) for page in pages):
        note(f"there is no {name.replace('_', ' ')} in it")


def _show(got: Got, found: Examined | None, all_links: bool, check_robots: bool, alone: bool) -> None:
    from scoter.cli.checking.lines import readable, show
    from scoter.cli.checking.showing import lines, verdict

    if alone:  # what was to be printed alone is not there: standard output stays empty
        note(readable(f"{got.url.text}: {verdict(got, found)}"))
        return
    show(lines(got, found, all_links=all_links, robots=check_robots))
