"""The files that Nutch's plug-ins read beside the site file: which of them are in use, and the settings that name them.

A configuration without its rule files would be another one: a crawl of one intranet would become a crawl of the web.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from scoter.config.show import toml_value
from scoter.nutch.settings.hosts import browser_patterns, credentials
from scoter.nutch.settings.site import read_limited
from scoter.nutch.settings.translation import Translated, Untranslated, expanded

LARGEST: Final = 64 * 2**20
Properties: TypeAlias = Mapping[str, str]
_HTTP: Final = ("protocol-http", "protocol-httpclient", "protocol-okhttp")
_SCOPES: Final = ("partition", "generate_host_count", "fetcher", "crawldb", "linkdb", "inject", "outlink", "indexer")
_ADAPTIVE: Final = ("AdaptiveFetchSchedule", "MimeAdaptiveFetchSchedule")


class NutchRuleFile(Struct, frozen=True):
    """A file, the plug-ins that read it, and the setting that names it here.

    ``by`` is the property with its name and ``rules`` one with its content, which wins. It is read only if the property
    ``when`` has one of ``values``. ``reader`` is the plug-in here that reads it. Nutch works without an optional file.
    """

    plugins: tuple[str, ...]
    name: str
    setting: str
    reader: str
    by: str = ""
    rules: str = ""
    when: str = ""
    values: tuple[str, ...] = ("true",)
    is_optional: bool = False


def _filter(name: str, file: str = "", *older: str) -> NutchRuleFile:
    return NutchRuleFile(
        (f"urlfilter-{name}", *older),
        file or f"{name}-urlfilter.txt",
        f"urlfilter.{name}_file",
        f"urlfilter-{name}",
        f"urlfilter.{name}.file",
        f"urlfilter.{name}.rules",
    )


def _normalizer(name: str, file: str, nutch: str, setting: str) -> NutchRuleFile:
    return NutchRuleFile(
        (f"urlnormalizer-{name}",),
        file,
        f"urlnormalizer.{setting}",
        f"urlnormalizer-{name}",
        f"urlnormalizer.{nutch}.file",
        f"urlnormalizer.{nutch}.rules",
    )


FILES: Final = (
    *(_filter(name) for name in ("regex", "automaton", "prefix", "suffix", "domain", "fast")),
    _filter("domaindenylist", "domaindenylist-urlfilter.txt", "urlfilter-domainblacklist"),
    NutchRuleFile(
        ("urlfilter-ignoreexempt",),
        "db-ignore-external-exemptions.txt",
        "db.ignore_external_exemptions_file",
        "urlexemption-ignoreexempt",
        "db.ignore.external.exemptions.file",
    ),
    _normalizer("regex", "regex-normalize.xml", "regex", "regex_file"),
    *(
        NutchRuleFile(
            ("urlnormalizer-regex",),
            "",  # there is none unless the property names one
            f"urlnormalizer.regex_file_{scope}",
            "urlnormalizer-regex",
            f"urlnormalizer.regex.file.{scope}",
        )
        for scope in _SCOPES
    ),
    _normalizer("host", "hosts.txt", "hosts", "host_file"),
    _normalizer("slash", "slashes.txt", "slashes", "slash_file"),
    _normalizer("protocol", "protocols.txt", "protocols", "protocols_file"),
    NutchRuleFile(
        ("subcollection",),
        "subcollections.xml",
        "plugin.indexingfilter-subcollection.file",
        "indexingfilter-subcollection",
        "subcollections.config",
    ),
    NutchRuleFile(
        ("mimetype-filter",),
        "mimetype-filter.txt",
        "index.mimetype_filter_file",
        "indexingfilter-mimetype",
        "mimetype.filter.file",
    ),
    NutchRuleFile(
        ("index-more",),
        "contenttype-mapping.txt",
        "index.more_mime_types_file",
        "indexingfilter-more",
        when="moreIndexingFilter.mapMimeTypes",
    ),
    NutchRuleFile(
        ("parsefilter-regex",),
        "regex-parsefilter.txt",
        "plugin.parsefilter-regex.file",
        "parsefilter-regex",
        "parsefilter.regex.file",
        "parsefilter.regex.rules",
    ),
    NutchRuleFile(
        ("parsefilter-naivebayes",),
        "naivebayes-train.txt",
        "plugin.parsefilter-naivebayes.train_file",
        "parsefilter-naivebayes",
        "parsefilter.naivebayes.trainfile",
    ),
    NutchRuleFile(
        ("parsefilter-naivebayes",),
        "naivebayes-wordlist.txt",
        "plugin.parsefilter-naivebayes.word_file",
        "parsefilter-naivebayes",
        "parsefilter.naivebayes.wordlist",
    ),
    NutchRuleFile(
        ("scoring-similarity",),
        "goldstandard.txt",
        "scoring.cosine_goldstandard_file",
        "scoring-similarity",
        "cosine.goldstandard.file",
    ),
    NutchRuleFile(
        ("scoring-similarity",),
        "stopwords.txt",
        "scoring.similarity_stopword_file",
        "scoring-similarity",
        "scoring.similarity.stopword.file",
    ),
    NutchRuleFile((), "agents.txt", "agent.rotate_file", "agents", "http.agent.rotate.file", when="http.agent.rotate"),
    NutchRuleFile(
        (),
        "cookies.txt",
        "agent.host_cookie_file",
        "cookies",
        "http.agent.host.cookie.file",
        when="http.enable.cookie.header",
        values=("", "true"),
        is_optional=True,
    ),
    NutchRuleFile(
        (),
        "adaptive-mimetypes.txt",
        "db.fetch_schedule_mime_file",
        "schedule-mime-adaptive",
        "db.fetch.schedule.mime.file",
        when="db.fetch.schedule.class",
        values=("org.apache.nutch.crawl.MimeAdaptiveFetchSchedule",),
    ),
    *(
        NutchRuleFile(
            (),
            "adaptive-host-specific-intervals.txt",
            f"plugin.schedule-{name}.host_file",
            f"schedule-{name}",
            when="db.fetch.schedule.class",
            values=(f"org.apache.nutch.crawl.{java}",),
            is_optional=True,
        )
        for name, java in zip(("adaptive", "mime-adaptive"), _ADAPTIVE, strict=True)
    ),
)

# File, property with its name, plug-in that reads it, and why it is not carried over.
_NOT_CARRIED: Final = (
    ("parse-plugins.xml", "parse.plugin.file", "", "each parser declares its types; see parse.parsers and parse.types"),
    ("tika-config.xml", "tika.config.file", "parse-tika", "Tika is not used; each type has its own parser"),
    (
        "tika-mimetypes.xml",
        "mime.types.file",
        "",
        "content types are detected by built-in rules; see parse.mime_type_magic",
    ),
    ("date-styles.txt", "", "index-more", "dates are recognised without a list of their forms"),
    (
        "db-ignore-external-exemptions-bidirectional.txt",
        "",
        "urlfilter-ignoreexempt",
        "an exemption sees only the target of a link; see db.ignore_external_exemptions_file",
    ),
)


class CarriedFile(Struct, frozen=True):
    """The content of a file, where it comes from, its new name, and the plug-in that reads it here."""

    name: str
    data: bytes
    source: str
    reader: str


class CarriedFiles(Struct, frozen=True):
    """The files of a configuration, the settings that name them, and what cannot be carried over.

    ``missing`` names files that are not there. ``properties`` are those that were taken into account.
    """

    files: tuple[CarriedFile, ...]
    rows: tuple[Translated, ...]
    left: tuple[Untranslated, ...]
    missing: tuple[str, ...]
    properties: frozenset[str]


def carry(given: Properties, plugins: frozenset[str], folder: Path | None, target: str) -> CarriedFiles:
    """Find the files that the active plug-ins read; ``folder`` is that of the site file, ``target`` the new one."""
    job = _Carrying(given, plugins, folder, target)
    for file in FILES:
        job.add(file)
    job.add_credentials()
    job.add_host_protocols()
    job.list_the_rest()
    return job.result()


class _Carrying:
    def __init__(self, given: Properties, plugins: frozenset[str], folder: Path | None, target: str) -> None:
        self._given = given
        self._plugins = plugins
        self._folder = folder
        self._target = target
        self._files: dict[str, CarriedFile] = {}
        self._rows: list[Translated] = []
        self._left: list[Untranslated] = []
        self._missing: list[str] = []
        self._properties: set[str] = set()

    def add(self, file: NutchRuleFile) -> None:
        """Carry a file over, or its content in a property, if a plug-in reads it."""
        named = [name for name in (file.by, file.rules) if name in self._given]
        self._properties.update(named)
        if not self._is_read(file):
            reason = "no active plug-in reads it"
            self._left += [Untranslated(name, self._given[name][:80], reason) for name in named]
            return
        rules = self._value(file.rules)
        if rules and file.setting == "urlnormalizer.protocols_file":
            self._properties.discard(file.rules)  # this one is a setting, too
            return
        if rules:
            self._carry(file, file.name, rules.encode(), file.rules)
            return
        name = self._value(file.by) or file.name
        if not name:
            return
        data = self._content(name)
        if data is None and not file.is_optional:
            plugin = next((each for each in file.plugins if each in self._plugins), file.when)
            self._missing.append(f"{name} ({plugin})")
        elif data is not None and not (file.is_optional and is_empty(data)):
            self._carry(file, name, data, file.by or name)

    def add_credentials(self) -> None:
        """Convert the file of user names and passwords, which only one protocol plug-in reads."""
        self._properties.add("http.auth.file")
        name = self._value("http.auth.file") or "httpclient-auth.xml"
        data = self._content(name) if "protocol-httpclient" in self._plugins else None
        if data is None:
            return
        lines, left = credentials(data, self._source(name))
        self._left += left
        if lines:
            file = NutchRuleFile((), "", "http.auth_file", "credentials")
            self._carry(
                file, str(Path(name).with_suffix(".txt")), "".join(f"{line}\n" for line in lines).encode(), name
            )

    def add_host_protocols(self) -> None:
        """Translate the list of hosts whose pages need a certain protocol plug-in."""
        name = "host-protocol-mapping.txt"
        data = self._content(name)
        if data is not None:
            patterns, left = browser_patterns(data, self._source(name))
            self._left += left
            if patterns:
                self._rows.append(Translated(name, "", "browser.url_patterns", toml_value(list(patterns))))

    def list_the_rest(self) -> None:
        """Name the files that Nutch reads and that have no counterpart."""
        for default, by, plugin, reason in _NOT_CARRIED:
            name = self._value(by) or default
            is_read = not plugin or plugin in self._plugins
            if is_read and ((data := self._content(name)) is not None) and not is_empty(data):
                self._left.append(Untranslated(by or default, name, reason))
                self._properties.add(by)

    def result(self) -> CarriedFiles:
        return CarriedFiles(
            tuple(self._files.values()),
            tuple(self._rows),
            tuple(self._left),
            tuple(dict.fromkeys(self._missing)),
            frozenset(self._properties),
        )

    def _is_read(self, file: NutchRuleFile) -> bool:
        is_active = not file.plugins or not self._plugins.isdisjoint(file.plugins)
        if file.reader in ("agents", "cookies"):
            is_active = not self._plugins.isdisjoint(_HTTP)
        return is_active and (not file.when or self._value(file.when) in file.values)

    def _value(self, name: str) -> str:
        try:
            return expanded(self._given.get(name, ""), self._given).strip()
        except ValueError as error:
            self._missing.append(f"{self._given[name][:80]} ({name}: {error})")
            return ""

    def _source(self, name: str) -> str:
        return str((self._folder or Path()) / name.removeprefix("file:"))

    def _content(self, name: str) -> bytes | None:
        if self._folder is None or "://" in name:
            return None
        return read_limited(Path(self._source(name)), LARGEST)

    def _carry(self, file: NutchRuleFile, name: str, data: bytes, by: str) -> None:
        new = next(each for each in _names(Path(name).name) if self._is_free(each, data))
        source = by if by == file.rules else self._source(name)
        self._files[new] = CarriedFile(new, data, source, file.reader)
        self._rows.append(Translated(by, "" if by == name else name, file.setting, toml_value(f"{self._target}/{new}")))

    def _is_free(self, name: str, data: bytes) -> bool:
        return name not in self._files or self._files[name].data == data


def _names(name: str) -> Iterator[str]:
    """Yield a name and then others like it, for files of one name in several folders."""
    yield name
    for number in range(2, 1000):
        yield f"{Path(name).stem}-{number}{Path(name).suffix}"


def is_empty(data: bytes) -> bool:
    """Return whether a file has only blank lines and comments."""
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in data.splitlines())
