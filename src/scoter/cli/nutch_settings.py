"""Convert a configuration of Nutch, with the files that its plug-ins read."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.files import read_bytes
from scoter.cli.invocation import invocation, remark
from scoter.cli.output import print_json, visible
from scoter.core.display import count
from scoter.errors import UsageError, UserError

if TYPE_CHECKING:
    from scoter.config import Config
    from scoter.nutch.settings.files import CarriedFile, CarriedFiles
    from scoter.nutch.settings.translation import Translated, Untranslated
    from scoter.nutch.writers.writers import NutchFile

_SITE = "nutch-site.xml"
_BESIDE = {"indexer.indexwriters.file": "index-writers.xml", "exchanges.exchanges.file": "exchanges.xml"}
_WRITERS = "index-writers.toml"
_NO_FILE = "not found; the index writers have their default settings"


@click.command("import-nutch")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the settings to this new file.")
@click.option("--force", is_flag=True, help="Replace existing files.")
def import_nutch(files: tuple[Path, ...], output: Path | None, force: bool) -> None:
    """Convert Nutch's configuration to Scoter settings.

    FILES are nutch-site.xml, or the folder that has it; or index-writers.xml and exchanges.xml alone. Files that the
    active plug-ins read are copied to a folder beside the settings: for scoter.toml to scoter-rules. The writers go to
    index-writers.toml. If a file is missing, nothing is converted. Whatever has no counterpart is listed.

    \b
    Example:
      scoter config import-nutch conf -o scoter.toml
      scoter config import-nutch conf -o scoter.toml --json
    """
    options = invocation()
    conversion = _Conversion(files, output)
    texts = conversion.texts
    is_written = output is not None or not options.json
    if output is None and len(texts) > 1 and is_written:
        hint = "Pass -o scoter.toml; the other files go beside it."
        raise UsageError("the result has several files", hint=hint)
    for file in texts:
        if file is not None and file.exists() and is_written and not force:
            hint = "Pass another name, or --force to replace the file."
            raise UsageError("already exists", where=str(file), hint=hint)
    conversion.check()
    if options.json:
        for row in (*conversion.translated, *conversion.untranslated):
            print_json(row)
    if is_written:
        _write(texts)
    remark(f"Converted {count(len(conversion.translated), 'setting')}, skipped {len(conversion.untranslated)}")
    for left in conversion.untranslated:
        remark(f"  {left.nutch} = {visible(left.nutch_value)}: {left.reason}")


class _Conversion:
    """The new files by name, with ``None`` for standard output, and what was and was not translated."""

    def __init__(self, paths: Sequence[Path], output: Path | None) -> None:
        self.texts: dict[Path | None, bytes] = {}
        self.translated: list[Translated] = []
        self.untranslated: list[Untranslated] = []
        self._output = output
        self._carried: CarriedFiles | None = None
        found = _nutch_files(paths)
        site = found.pop("site", None)
        if site is None:
            self._add_writers(found, None)
        else:
            self._add_site(site, found)

    def check(self) -> None:
        """Let the plug-ins read their files; raise ``UserError`` for a line that they do not understand."""
        if self._carried is None or not self._carried.files:
            return
        settings = self.texts[self._output].decode()
        with tempfile.TemporaryDirectory(prefix="scoter-nutch-") as folder:
            trial = Path(folder)
            for file, data in self.texts.items():
                if file is not None and file != self._output:
                    copy = trial / file.relative_to(_beside(self._output))
                    copy.parent.mkdir(exist_ok=True)
                    copy.write_bytes(data)
            (trial / "scoter.toml").write_text(settings, encoding="utf-8")
            _check(trial, _rules_folder(self._output), self._carried.files)

    def _add_site(self, site: NutchFile, others: dict[str, NutchFile]) -> None:
        from scoter.nutch.settings.files import carry
        from scoter.nutch.settings.site import properties
        from scoter.nutch.settings.translation import Untranslated, plugins_of, translate, with_url_chains

        folder = None if site.source in ("-", "/dev/stdin") else Path(site.source).parent
        given = properties(site.xml, site.source, folder)
        defaults = given if "plugin.includes" in given else _defaults(folder)
        plugins = plugins_of(defaults | given)
        rows = list(self._add_writers(_with_writers(given, folder, others), plugins))
        carried = self._carried = carry(given, plugins, folder, _rules_folder(self._output))
        if carried.missing:
            listing = "".join(f"\n  {name}" for name in carried.missing)
            hint = "Put them into the folder of nutch-site.xml, or take the plug-ins out of plugin.includes."
            raise UsageError(f"active plug-ins read files that are missing:{listing}", where=site.source, hint=hint)
        elsewhere = {*carried.properties, *_BESIDE}
        done = translate(with_url_chains(given, defaults), site.source, [*rows, *carried.rows], elsewhere)
        self.texts |= {
            _beside(self._output) / _rules_folder(self._output) / file.name: file.data for file in carried.files
        }
        self.texts[self._output] = done.toml_text.encode()
        self.translated += done.translated
        self.untranslated += (*done.untranslated, *carried.left)
        if not rows and any(name.startswith("indexer-") for name in plugins) and "plugin.includes" in given:
            name, file = next(iter(_BESIDE.items()))
            self.untranslated.append(Untranslated(name, given.get(name) or file, _NO_FILE))

    def _add_writers(self, found: Mapping[str, NutchFile], plugins: frozenset[str] | None) -> Sequence[Translated]:
        """Convert the index writers and return the settings that name their file."""
        from scoter.nutch.writers.writers import import_writers, writers_rows

        if "writers" not in found:
            return ()
        writers = import_writers(found["writers"], found.get("exchanges"), plugins)
        is_alone = plugins is None
        self.texts[self._output if is_alone else _beside(self._output) / _WRITERS] = writers.toml_text.encode()
        self.translated += writers.translated
        self.untranslated += writers.untranslated
        return writers_rows(writers, _WRITERS)


def _nutch_files(paths: Sequence[Path]) -> dict[str, NutchFile]:
    """Read the files, each under the name of what it holds: ``site``, ``writers`` or ``exchanges``."""
    from scoter.nutch.settings.xml import root_of
    from scoter.nutch.writers.writers import NutchFile

    names = (_SITE, *_BESIDE.values())
    found: dict[str, NutchFile] = {}
    for path in paths:
        inside = [path / name for name in names if (path / name).exists()]
        if path.is_dir() and not inside:
            raise UsageError(f"has none of {', '.join(names)}", where=str(path))
        # The others are looked for where the site file says.
        for file in inside[:1] if path / _SITE in inside else inside or [path]:
            data = read_bytes(file)
            root = root_of(data)
            kind = root if root in ("writers", "exchanges") else "site"
            if kind in found:
                raise UsageError(f"{found[kind].source} is a file of the same kind", where=str(file))
            found[kind] = NutchFile(data, str(file))
    if "exchanges" in found and not {"writers", "site"} & found.keys():
        hint = "Pass index-writers.xml as well."
        raise UsageError("names writers of another file", where=found["exchanges"].source, hint=hint)
    return found


def _with_writers(
    given: Mapping[str, str], folder: Path | None, found: Mapping[str, NutchFile]
) -> dict[str, NutchFile]:
    """Add the files of index writers and exchanges that the site file names, unless others were given."""
    from scoter.nutch.writers.writers import NutchFile

    every = dict(found)
    for kind, (name, default) in zip(("writers", "exchanges"), _BESIDE.items(), strict=True):
        file = None if folder is None else folder / (given.get(name) or default)
        if kind not in every and file is not None and file.is_file():
            every[kind] = NutchFile(read_bytes(file), str(file))
    return every


def _defaults(folder: Path | None) -> dict[str, str]:
    """Return the properties of nutch-default.xml, if it is beside the site file."""
    from scoter.nutch.settings.site import properties

    file = None if folder is None else folder / "nutch-default.xml"
    return properties(read_bytes(file), str(file)) if file is not None and file.is_file() else {}


def _beside(output: Path | None) -> Path:
    return Path() if output is None else output.parent


def _rules_folder(output: Path | None) -> str:
    return f"{'scoter' if output is None else output.stem}-rules"


def _check(trial: Path, rules: str, files: Sequence[CarriedFile]) -> None:
    from scoter.config import load

    config = load(trial / "scoter.toml")
    for file in files:
        try:
            _read(file.reader, config)
        except UserError as error:
            for each in files:  # name the file that the user has
                here = str(trial / rules / each.name)
                error.message, error.where = (text.replace(here, each.source) for text in (error.message, error.where))
            raise


def _read(reader: str, config: Config) -> Any:
    """Let a plug-in, or the part of the HTTP client with that name, read its file."""
    from scoter.fetch.protocols.credentials import parse_cookies, parse_credentials, read_lines
    from scoter.fetch.protocols.request_headers import read_agents
    from scoter.plugins import find_by_full_name

    match reader:
        case "agents":
            return read_agents(config.agent.rotate_file)
        case "cookies":
            file = config.agent.host_cookie_file
            return parse_cookies(read_lines(file, "agent.host_cookie_file"), str(file))
        case "credentials":
            file = config.http.auth_file
            return parse_credentials(read_lines(file, "http.auth_file"), str(file))
        case _:
            return find_by_full_name(reader).make(config)


def _write(texts: Mapping[Path | None, bytes]) -> None:
    from scoter.batch.crawldir.export import replace_file
    from scoter.store.disk import disk_errors

    for file, data in texts.items():
        if file is None:
            click.echo(data, nl=False)
            continue
        if file.parent.name.endswith("-rules"):
            with disk_errors("write the file", file):
                file.parent.mkdir(exist_ok=True)
        with replace_file(file) as opened:
            opened.write(data)
