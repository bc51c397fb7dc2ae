"""Show the configuration, or convert one from Nutch."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.nutch_settings import import_nutch
from scoter.cli.output import print_json


@click.group()
def command() -> None:
    """Show the configuration, or convert one from Nutch.

    \b
    Example:
      scoter config show
    """


@command.command()
@click.option("--defaults", is_flag=True, help="Print a complete, commented settings file with the defaults instead.")
@click.option("--crawl", "directory", metavar="DIR", help="Start from the settings recorded in this crawl directory.")
def show(defaults: bool, directory: str | None) -> None:
    """Print all settings and the source of each value.

    \b
    Example:
      scoter config show -D fetch.delay=2s
      scoter config show --crawl mycrawl
      scoter config show --defaults > scoter.toml
    """
    from scoter.config import load_with_origins
    from scoter.config.show import defaults_toml, effective_toml, rows
    from scoter.plugins import declared_settings, names_by_key

    if directory is not None:
        from scoter.batch.crawldir.directory import CrawlDir

        CrawlDir.open(directory)  # fail if it is not a crawl
    options = invocation()
    loaded = load_with_origins() if defaults else options.loaded()
    if options.json:
        for row in rows(loaded):
            print_json(row)
    elif defaults:
        click.echo(defaults_toml(declared_settings()), nl=False)
    else:
        click.echo(effective_toml(loaded, names_by_key()), nl=False)


command.add_command(import_nutch)
