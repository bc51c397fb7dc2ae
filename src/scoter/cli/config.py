"""Show the configuration, or convert one from Nutch."""

from __future__ import annotations

from pathlib import Path

import click

from scoter.cli.files import read_bytes
from scoter.cli.invocation import invocation, remark
from scoter.cli.output import print_json, visible
from scoter.core.display import count


@click.group()
def command() -> None:
    """Show the configuration, or convert one from Nutch.

    \b
    Example:
      scoter config show
    """


@command.command()
@click.option("--defaults", is_flag=True, help="Print a complete, commented settings file with the defaults instead.")
def show(defaults: bool) -> None:
    """Print all settings and the source of each value.

    \b
    Example:
      scoter config show -D fetch.delay=2s
      scoter config show --defaults > scoter.toml
    """
    from scoter.config import load_with_origins
    from scoter.config.show import defaults_toml, effective_toml, rows
    from scoter.plugins import declared_settings, names_by_key

    options = invocation()
    loaded = load_with_origins() if defaults else options.loaded()
    if options.json:
        for row in rows(loaded):
            print_json(row)
    elif defaults:
        click.echo(defaults_toml(declared_settings()), nl=False)
    else:
        click.echo(effective_toml(loaded, names_by_key()), nl=False)


@command.command("import-nutch")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the settings to this file.")
def import_nutch(file: Path, output: Path | None) -> None:
    """Convert a Nutch site file to Scoter settings.

    Properties without a counterpart are listed.

    \b
    Example:
      scoter config import-nutch conf/nutch-site.xml -o scoter.toml
    """
    from scoter.config.nutch import NO_EFFECT
    from scoter.config.nutch import import_nutch as convert

    options = invocation()
    imported = convert(read_bytes(file), str(file))
    if options.json:
        for row in (*imported.translated, *imported.untranslated):
            print_json(row)
    elif output is not None:
        from scoter.batch.crawldir.export import replace_file

        with replace_file(output) as opened:
            opened.write(imported.toml_text.encode())
    else:
        click.echo(imported.toml_text, nl=False)
    remark(f"Converted {count(len(imported.translated), 'setting')}, skipped {len(imported.untranslated)}")
    for row in imported.translated:
        if row.note.endswith(NO_EFFECT):
            remark(f"  {row.setting}: {NO_EFFECT}")
    for left in imported.untranslated:
        remark(f"  {left.nutch} = {visible(left.nutch_value)}: {left.reason}")
