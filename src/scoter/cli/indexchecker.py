"""Show the document that a page becomes, and which filter set each field."""

from __future__ import annotations

import click

from scoter.cli.files import read_urls
from scoter.cli.invocation import NOTHING_TO_DO, agent_option, invocation
from scoter.cli.output import print_json
from scoter.cli.parsechecker import document_options, get_document
from scoter.errors import UsageError


@click.command()
@click.argument("document", metavar="[URL-OR-FILE]", default="")
@click.option("--stdin", is_flag=True, help="Check the URLs and files listed on stdin, one per line.")
@document_options
@click.option("--md", metavar="KEY=VALUE", multiple=True, help="Metadata of the page in the crawldb; can be repeated.")
@click.option("--anchor", metavar="TEXT", multiple=True, help="Text of a link to the page; can be repeated.")
@agent_option
def command(
    document: str,
    stdin: bool,
    as_url: str | None,
    force_as: str,
    follow_redirects: bool,
    md: tuple[str, ...],
    anchor: tuple[str, ...],
) -> int:
    """Show the document that a page becomes, and which filter set each field.

    A URL is fetched as a crawl would fetch it, obeying robots.txt. A file is read from disk, or from stdin for a dash.
    The page is parsed and passed through the filters of index.filters, as by `scoter index`, but nothing is
    written. Exit code 1: the page could not be fetched or parsed, or filters leave it out.

    \b
    Example:
      scoter indexchecker https://example.org/ --agent examplebot
      scoter indexchecker page.html --as-url https://example.org/page.html
      scoter indexchecker page.html -D index.filters=basic,static -D index.static=source:blog
    """
    options = invocation()
    if bool(document) == stdin:
        raise UsageError("pass a URL, a file, or --stdin", hint="See scoter indexchecker --help")

    from scoter.cli.parsecheck.examination import examine
    from scoter.cli.parsecheck.index_document import IndexCheck, index_lines, index_object
    from scoter.cli.parsecheck.layout import show

    check = IndexCheck(options.config, _metadata(md), anchor)
    is_indexed = []
    for name in read_urls(()) if stdin else (document,):
        source = get_document(options, name, as_url, force_as, follow_redirects)
        found = None if source.content is None else examine(options.config, source.content)
        pages = check.pages(source, found)
        if options.json:
            print_json(index_object(source, found, pages))
        else:
            show(index_lines(source, found, pages))
        is_indexed.append(any(page.document is not None for page in pages))
    return 0 if all(is_indexed) else NOTHING_TO_DO


def _metadata(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not name or not sign:
            raise UsageError(f"{each!r} is not of the form KEY=VALUE", where="--md")
        found[name] = value
    return found
