"""Show what a robots.txt allows, and by which line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.files import read_bytes
from scoter.cli.invocation import invocation, urls_from
from scoter.cli.output import note, print_json, visible

if TYPE_CHECKING:
    from scoter.core.robots import Robots


@click.command()
@click.argument("robots", type=click.Path(path_type=Path))
@click.argument("urls", nargs=-1)
@click.option(
    "--agent", multiple=True, help="Our name in robots.txt; may be given again (default: agent.name, or scoter)."
)
def command(robots: Path, urls: tuple[str, ...], agent: tuple[str, ...]) -> None:
    """Show what a robots.txt allows, and by which line.

    ROBOTS is a file, or - for stdin; `scoter parsechecker URL --check-robots` asks a site for its own. URLs are
    arguments, or come on stdin, one a line.

    \b
    Example:
      scoter robotschecker robots.txt --agent mybot https://example.org/private/
    """
    from scoter.core.robots import Robots
    from scoter.core.url import canonical
    from scoter.errors import UrlError, UsageError

    said = invocation()
    if str(robots).startswith(("http:/", "https:/")):  # a Path has taken one of the slashes
        raise UsageError(
            "ROBOTS is a file, and this is a URL",
            hint="Save it to a file, or ask the site: scoter parsechecker URL --check-robots",
        )
    if str(robots) in ("-", "/dev/stdin") and not urls:
        raise click.UsageError("both the robots.txt and the URLs would come from stdin; name the URLs as arguments")
    names = agent or tuple(filter(None, (said.config.agent.name, *said.config.http.robots_agents))) or ("scoter",)
    rules = Robots.read(read_bytes(robots), names)
    if not said.json and not said.quiet:
        _introduce(rules)
    for text in urls_from(urls):
        try:
            url = canonical(text)
        except UrlError as error:
            if said.json:
                print_json({"url": text, "allowed": None, "why": error.message})
            else:
                click.echo(f"? {visible(text)}" + ("" if said.quiet else f"  {error.message}"))
            continue
        verdict = rules.explain(url)
        if said.json:
            print_json({"url": url.text, "allowed": verdict.allowed, "why": verdict.why, "group": rules.group})
        else:
            click.echo(f"{'+' if verdict.allowed else '-'} {url}" + ("" if said.quiet else f"  {visible(verdict.why)}"))


def _introduce(rules: Robots) -> None:
    delay = "none" if rules.crawl_delay is None else f"{rules.crawl_delay.total_seconds():g} s"
    group = f"group {rules.group!r}" if rules.group else "no group speaks to us"
    note(f"{group}: {len(rules.rules)} rules, crawl delay {delay}, {len(rules.sitemaps)} sitemaps")
    for sitemap in rules.sitemaps[:10]:
        note(f"  sitemap {visible(sitemap)}")
