"""Commands that show what rules do to URLs: filterchecker, normalizerchecker and robotschecker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from scoter.cli.files import read_bytes, read_urls
from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json, print_warnings, visible
from scoter.core.display import count, duration

if TYPE_CHECKING:
    from scoter.core.robots import Robots
    from scoter.core.url import Url
    from scoter.plugins import Scope


@click.command()
@click.argument("urls", nargs=-1)
def filterchecker(urls: tuple[str, ...]) -> None:
    """Show which URL filters keep or drop URLs.

    URLs are read from the arguments, or from stdin, one per line. Each output line starts with + if the URL is kept,
    - if it is dropped, ? if it is not a URL. The setting urlfilter.filters lists the filters.

    \b
    Example:
      scoter filterchecker https://example.org/photo.jpg
      scoter filterchecker -D urlfilter.filters=regex -D urlfilter.regex_file=rules.txt < urls.txt
    """
    from scoter.core.chain import trace_filters
    from scoter.core.url import canonical
    from scoter.errors import UrlError
    from scoter.plugins import chain

    options = invocation()
    filters = chain("urlfilter", options.config)
    print_warnings(filters, options.quiet)
    for text in read_urls(urls):
        try:
            url = canonical(text)
        except UrlError as error:
            if options.json:
                print_json({"url": text, "kept": None, "why": error.message, "steps": []})
            else:
                click.echo(f"? {visible(text)}" + ("" if options.quiet else f"\n    {error.message}"))
            continue
        kept, steps = trace_filters(url, filters)
        if options.json:
            verdicts = [{"filter": step.name, "keeps": step.kept, "why": step.why} for step in steps]
            print_json({"url": url.text, "kept": kept, "steps": verdicts})
            continue
        click.echo(f"{'+' if kept else '-'} {url}")
        widest = max((len(step.name) for step in steps), default=0)
        for step in () if options.quiet else steps:
            verdict = "keeps" if step.kept else "drops"
            click.echo(f"    {step.name:<{widest}}  {verdict}  {visible(step.why)}".rstrip())


class ScopeName(click.ParamType[str]):
    """The name of a normaliser scope, checked without importing the plug-ins for `--help`."""

    name = "scope"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from scoter.errors import did_you_mean
        from scoter.plugins import Scope

        known = get_args(Scope)
        if value not in known:
            suggestion = did_you_mean(value, known, otherwise=f": {', '.join(known)}")
            self.fail(f"{value!r} is not a scope{suggestion}", param, ctx)
        return value


@click.command()
@click.argument("urls", nargs=-1)
@click.option("--scope", type=ScopeName(), default="default", show_default=True, help="Where the URLs come from.")
def normalizerchecker(urls: tuple[str, ...], scope: Scope) -> None:
    """Show how the URL normalisers change URLs.

    URLs are read from the arguments, or from stdin, one per line. The setting urlnormalizer.normalizers lists the
    normalisers.

    \b
    Example:
      scoter normalizerchecker 'HTTP://Example.ORG:80/a/../b#top'
      scoter normalizerchecker --scope outlink -D urlnormalizer.normalizers=basic,regex < urls.txt
    """
    from scoter.core.chain import trace_normalize
    from scoter.plugins import chain

    options = invocation()
    normalizers = chain("urlnormalizer", options.config)
    print_warnings(normalizers, options.quiet)
    for text in read_urls(urls):
        url, steps = trace_normalize(text, normalizers, scope, options.config.urlnormalizer.loop_count)
        if options.json:
            changes = [{"normalizer": step.name, "url": step.after, "why": step.why} for step in steps]
            print_json({"given": text, "url": url and url.text, "steps": changes})
            continue
        if options.quiet:
            click.echo(url.text if url else "")
            continue
        click.echo(f"{'=' if url and url.text == text else '→' if url else '?'} {url or visible(text)}")
        widest = max((len(step.name) for step in steps), default=0)
        for step in steps:
            outcome = "unchanged" if not step.changed else visible(step.after or f"dropped: {step.why}")
            click.echo(f"    {step.name:<{widest}}  {outcome}")


@click.command()
@click.argument("robots", metavar="FILE-OR-URL")
@click.argument("urls", nargs=-1)
@click.option(
    "--agent", multiple=True, help="Agent name to look for; can be repeated (default: agent.name, otherwise scoter)."
)
def robotschecker(robots: str, urls: tuple[str, ...], agent: tuple[str, ...]) -> None:
    """Show what a robots.txt file allows, and which line decides.

    The rules come from a file, from stdin for a dash, or from a site: for a URL, its site's robots.txt is fetched, and
    the URL itself is checked if no other is given. URLs are read from the arguments, or from stdin, one per line.

    \b
    Example:
      scoter robotschecker robots.txt --agent mybot https://example.org/private/
      scoter robotschecker https://example.org/private/ --agent mybot
    """
    from scoter.core.robots import Robots
    from scoter.core.url import canonical
    from scoter.errors import UrlError

    options = invocation()
    if robots in ("-", "/dev/stdin") and not urls:
        raise click.UsageError("cannot read both robots.txt and the URLs from stdin; pass the URLs as arguments")
    names = agent or tuple(filter(None, (options.config.agent.name, *options.config.http.robots_agents))) or ("scoter",)
    if robots.startswith(("http://", "https://")):
        data = _fetch_robots(canonical(robots), names[0])
        urls = urls or (robots,)
    else:
        data = read_bytes(Path(robots))
    rules = Robots.read(data, names)
    if not options.json and not options.quiet:
        _introduce(rules)
    for text in read_urls(urls):
        try:
            url = canonical(text)
        except UrlError as error:
            if options.json:
                print_json({"url": text, "allowed": None, "why": error.message})
            else:
                click.echo(f"? {visible(text)}" + ("" if options.quiet else f"  {error.message}"))
            continue
        verdict = rules.explain(url)
        if options.json:
            print_json({"url": url.text, "allowed": verdict.allowed, "why": verdict.why, "group": rules.group})
        else:
            why = "" if options.quiet else f"  {visible(verdict.why)}"
            click.echo(f"{'+' if verdict.allowed else '-'} {url}{why}")


def _fetch_robots(url: Url, agent: str) -> bytes:
    """Return the robots.txt of a URL's site, empty if there is none; the request is made under the agent's name."""
    from scoter.cli.parsecheck import document
    from scoter.core.url import join
    from scoter.errors import UserError
    from scoter.fetch.pages import MAX_HOPS

    options = invocation()
    if not options.config.agent.name:
        options.override(f"agent.name={agent}")
    place = join(url, "/robots.txt")
    assert place is not None  # noqa: S101 - the URL is http or https
    found = document.fetch(options.config, place, place.text, hops=MAX_HOPS)
    if found.content is not None:
        return found.content.body
    if 400 <= found.status < 500 and found.status != 429:  # RFC 9309 2.3.1.3: there are no rules
        return b""
    raise UserError(found.problem or "cannot be read", where=place.text, hint=found.hint)


def _introduce(rules: Robots) -> None:
    group = f"group {rules.group!r}" if rules.group else "no group applies"
    delay = "no Crawl-delay" if rules.crawl_delay is None else f"Crawl-delay {duration(rules.crawl_delay)}"
    note(f"{group}: {count(len(rules.rules), 'rule')}, {delay}, {count(len(rules.sitemaps), 'sitemap')}")
    for sitemap in rules.sitemaps[:10]:
        note(f"  sitemap {visible(sitemap)}")
