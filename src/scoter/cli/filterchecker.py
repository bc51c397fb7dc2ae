"""Show what each URL filter of the chain says of URLs."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation, urls_from
from scoter.cli.output import print_json, visible, warn_of


@click.command()
@click.argument("urls", nargs=-1)
def command(urls: tuple[str, ...]) -> None:
    """Show what each URL filter of the chain says of URLs.

    URLs are arguments, or come on stdin, one a line. A line starts with + when the URL is kept, with - when it is
    dropped, with ? when it is no URL. The chain is urlfilter.order.

    \b
    Example:
      scoter filterchecker https://example.org/photo.jpg
      scoter filterchecker -D urlfilter.order=regex -D urlfilter.regex_file=rules.txt < urls.txt
    """
    from scoter.core.chain import trace_filters
    from scoter.core.url import canonical
    from scoter.errors import UrlError
    from scoter.plugins import chain

    said = invocation()
    filters = chain("urlfilter", said.config)
    warn_of(filters, said.quiet)
    for text in urls_from(urls):
        try:
            url = canonical(text)
        except UrlError as error:
            if said.json:
                print_json({"url": text, "kept": None, "why": error.message, "steps": []})
            else:
                click.echo(f"? {visible(text)}" + ("" if said.quiet else f"\n    {error.message}"))
            continue
        kept, steps = trace_filters(url, filters)
        if said.json:
            said_by = [{"filter": step.name, "keeps": step.kept, "why": step.why} for step in steps]
            print_json({"url": url.text, "kept": kept, "steps": said_by})
            continue
        click.echo(f"{'+' if kept else '-'} {url}")
        widest = max((len(step.name) for step in steps), default=0)
        for step in () if said.quiet else steps:
            verdict = "keeps" if step.kept else "drops"
            click.echo(f"    {step.name:<{widest}}  {verdict}  {visible(step.why)}".rstrip())
