"""Show what each URL normaliser of the chain makes of URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from scoter.cli.invocation import invocation, urls_from
from scoter.cli.output import print_json, visible, warn_of

if TYPE_CHECKING:
    from scoter.plugins import Scope


class ScopeName(click.ParamType[str]):
    """The name of a scope, checked without importing the plug-ins for `--help`."""

    name = "scope"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from scoter.errors import nearest
        from scoter.plugins import Scope

        known = get_args(Scope)
        if value not in known:
            close = nearest(value, known)
            self.fail(
                f"{value!r} is not a scope" + (f"; did you mean {close!r}?" if close else f": {', '.join(known)}"),
                param,
                ctx,
            )
        return value


@click.command()
@click.argument("urls", nargs=-1)
@click.option("--scope", type=ScopeName(), default="default", show_default=True, help="Where the URLs are met.")
def command(urls: tuple[str, ...], scope: Scope) -> None:
    """Show what each URL normaliser of the chain makes of URLs.

    URLs are arguments, or come on stdin, one a line. The chain is urlnormalizer.order.

    \b
    Example:
      scoter normalizerchecker 'HTTP://Example.ORG:80/a/../b#top'
      scoter normalizerchecker --scope outlink -D urlnormalizer.order=basic,regex < urls.txt
    """
    from scoter.core.chain import trace_normalize
    from scoter.plugins import chain

    said = invocation()
    normalizers = chain("urlnormalizer", said.config)
    warn_of(normalizers, said.quiet)
    loops = said.config.urlnormalizer.loop_count
    for text in urls_from(urls):
        url, steps = trace_normalize(text, normalizers, scope, loops)
        if said.json:
            made = [{"normalizer": step.name, "url": step.after, "why": step.why} for step in steps]
            print_json({"given": text, "url": url and url.text, "steps": made})
            continue
        if said.quiet:
            click.echo(url.text if url else "")
            continue
        click.echo(f"{'=' if url and url.text == text else '→' if url else '?'} {url or visible(text)}")
        widest = max((len(step.name) for step in steps), default=0)
        for step in steps:
            outcome = "as it was" if not step.changed else visible(step.after or f"dropped: {step.why}")
            click.echo(f"    {step.name:<{widest}}  {outcome}")
