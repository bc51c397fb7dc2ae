"""Show the configuration, or convert one from Nutch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.files import read_bytes
from scoter.cli.invocation import invocation, remark
from scoter.cli.output import print_json, visible
from scoter.core.display import count
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.config.nutch import Translated, Untranslated
    from scoter.index.nutch_writers import NutchFile

_NUTCH_NAMES = ("nutch-site.xml", "index-writers.xml", "exchanges.xml")
_WRITERS = "index-writers.toml"


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


@command.command("import-nutch")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the settings to this new file.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def import_nutch(files: tuple[Path, ...], output: Path | None, force: bool) -> None:
    """Convert Nutch's configuration to Scoter settings.

    FILES are nutch-site.xml, index-writers.xml and exchanges.xml, or the folder that has them. The writers go to
    index-writers.toml beside the settings. Whatever has no counterpart is listed.

    \b
    Example:
      scoter config import-nutch conf/nutch-site.xml -o scoter.toml
      scoter config import-nutch conf -o scoter.toml
    """
    options = invocation()
    found = _nutch_files(files)
    if output is None and len(found) > 1 and "site" in found and not options.json:
        hint = "Pass -o scoter.toml; the writers go to index-writers.toml beside it."
        raise UsageError("the result has two files", hint=hint)
    texts, translated, untranslated = _converted(found, output)
    for file in texts:
        if file is not None and file.exists() and not force:
            hint = "Pass another name, or --force to replace the file."
            raise UsageError("already exists", where=str(file), hint=hint)
    if options.json:
        for row in (*translated, *untranslated):
            print_json(row)
    else:
        _write(texts)
    remark(f"Converted {count(len(translated), 'setting')}, skipped {len(untranslated)}")
    for left in untranslated:
        remark(f"  {left.nutch} = {visible(left.nutch_value)}: {left.reason}")


def _nutch_files(paths: Sequence[Path]) -> dict[str, NutchFile]:
    """Read the files, each under the name of what it holds: ``site``, ``writers`` or ``exchanges``."""
    from scoter.config.nutch_xml import root_of
    from scoter.index.nutch_writers import NutchFile

    found: dict[str, NutchFile] = {}
    for path in paths:
        inside = [path / name for name in _NUTCH_NAMES if (path / name).exists()]
        if path.is_dir() and not inside:
            raise UsageError(f"has none of {', '.join(_NUTCH_NAMES)}", where=str(path))
        for file in inside if path.is_dir() else [path]:
            data = read_bytes(file)
            root = root_of(data)
            kind = root if root in ("writers", "exchanges") else "site"
            if kind in found:
                raise UsageError(f"{found[kind].source} is a file of the same kind", where=str(file))
            found[kind] = NutchFile(data, str(file))
    if "exchanges" in found and "writers" not in found:
        hint = "Pass index-writers.xml as well."
        raise UsageError("names writers of another file", where=found["exchanges"].source, hint=hint)
    return found


def _converted(
    found: Mapping[str, NutchFile], output: Path | None
) -> tuple[dict[Path | None, str], list[Translated], list[Untranslated]]:
    """Return the texts by file, with ``None`` for standard output, and what was and was not translated."""
    from scoter.config.nutch import import_nutch as convert
    from scoter.config.nutch import plugins_of
    from scoter.index.nutch_writers import import_writers, writers_rows

    site, texts = found.get("site"), dict[Path | None, str]()
    translated: list[Translated] = []
    untranslated: list[Untranslated] = []
    rows: Sequence[Translated] = ()
    if "writers" in found:
        plugins = None if site is None else plugins_of(site.xml, site.source)
        writers = import_writers(found["writers"], found.get("exchanges"), plugins)
        texts[output if site is None or output is None else output.with_name(_WRITERS)] = writers.toml_text
        translated += writers.translated
        untranslated += writers.untranslated
        rows = writers_rows(writers, _WRITERS)
    if site is not None:
        settings = convert(site.xml, site.source, rows)
        texts[output] = settings.toml_text
        translated += settings.translated
        untranslated += settings.untranslated
    return texts, translated, untranslated


def _write(texts: Mapping[Path | None, str]) -> None:
    from scoter.batch.crawldir.export import replace_file

    for file, text in texts.items():
        if file is None:
            click.echo(text, nl=False)
        else:
            with replace_file(file) as opened:
                opened.write(text.encode())
