"""The built-in indexing filters that follow rules: constants, replacements, expressions, lists and look-ups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final
from xml.parsers import expat

from msgspec import Struct
from msgspec.structs import replace

from scoter.builtin.rulefiles import configured_rules, read_rules
from scoter.config import Setting
from scoter.core.datum import short_name
from scoter.core.document import CrawledPage, Document
from scoter.core.expr import DATUM, ValueType, compile_expr, matches
from scoter.core.pattern import Pattern, Replacement, compile_pattern, compile_replacement
from scoter.errors import ConfigError, RuleError
from scoter.extras import install_command
from scoter.plugins import Setup

EXPRESSION_COLUMNS: Final[Mapping[str, ValueType]] = {
    **DATUM,
    "title": ValueType.TEXT,
    "text": ValueType.TEXT,
    "language": ValueType.TEXT,
    "content_type": ValueType.TEXT,
}


class StaticIndexingFilter:
    """Sets the fields of index.static to their constant values."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.index
        self._fields: dict[str, list[str]] = {}
        for line in settings.static:
            name, mark, text = line.partition(settings.static_keysep or ":")
            values = [value.strip() for value in text.split(settings.static_valuesep or None) if value.strip()]
            if not mark or not name.strip() or not values:
                form = f"field{settings.static_keysep or ':'}value"
                raise ConfigError(f"{line!r} is not of the form {form}", where="index.static")
            self._fields.setdefault(name.strip(), []).extend(values)

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        return document.with_fields(self._fields)


class _FieldReplacement(Struct, frozen=True):
    """Replaces what a pattern matches in a field; ``host`` and ``url`` restrict it to pages that they match."""

    field: str
    target: str
    pattern: Pattern
    replacement: Replacement
    host: Pattern | None
    url: Pattern | None

    def applies_to(self, crawled: CrawledPage) -> bool:
        address = crawled.page.url
        return (self.host is None or bool(self.host.found(address.host))) and (
            self.url is None or bool(self.url.found(address.text))
        )

    def value(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = self.pattern.replaced(value, self.replacement)
        return value if found is None else found


class ReplaceIndexingFilter:
    """Rewrites fields by the patterns of index.replace_regexp."""

    def __init__(self, setup: Setup) -> None:
        self._rules = tuple(_replacements(setup.config.index.replace_regexp))

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        for rule in self._rules:
            values = document.fields.get(rule.field, ())
            if values and rule.applies_to(crawled):
                document = document.without([rule.target]).with_fields({rule.target: map(rule.value, values)})
        return document


class ExpressionIndexingFilter:
    """Drops documents for which index.filter_expr is not true."""

    def __init__(self, setup: Setup, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        text = setup.config.index.filter_expr
        self._expression = compile_expr(text, EXPRESSION_COLUMNS) if text else None
        self._now = now()

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        if self._expression is None or matches(self._expression, expression_row(crawled), self._now):
            return document
        return None


class MimetypeIndexingFilter:
    """Drops documents by content type, as the file index.mimetype_filter_file says.

    Its first rule is ``+`` (index every type except those listed) or ``-`` (index only those listed); each other line
    is the beginning of a type.
    """

    def __init__(self, setup: Setup) -> None:
        file = configured_rules(setup, "index.mimetype_filter_file")
        lines = [(number, line.strip()) for number, line in enumerate(file.lines, 1)]
        rules = [(number, line) for number, line in lines if line and not line.startswith("#")]
        if not rules or rules[0][1] not in ("+", "-"):
            raise RuleError(
                "the first rule must be + or -",
                file=file.source,
                line=rules[0][0] if rules else 1,
                hint="+ indexes every type except those listed, - only those listed.",
            )
        self._keeps_listed = rules[0][1] == "-"
        self._listed = tuple(line.lower() for _, line in rules[1:])

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        is_listed = crawled.page.media_type.lower().startswith(self._listed)
        return document if is_listed == self._keeps_listed else None


class SubcollectionSettings(Struct, frozen=True):
    """The file that defines the subcollections."""

    file: Annotated[Path, Setting("Definitions of subcollections: Nutch's subcollections.xml.", example='"sub.xml"')]


class _Subcollection(Struct):
    """A named part of the web: URLs that contain an entry of the whitelist and none of the blacklist."""

    name: str = ""
    id: str = ""
    key: str = ""
    whitelist: str = ""
    blacklist: str = ""

    def has(self, url: str) -> bool:
        return any(each in url for each in self.whitelist.split()) and not any(
            each in url for each in self.blacklist.split()
        )

    def lowered(self) -> _Subcollection:
        """Return the same part for URLs in lower case."""
        return replace(self, whitelist=self.whitelist.lower(), blacklist=self.blacklist.lower())


class SubcollectionIndexingFilter:
    """Sets subcollection to the names of the subcollections that the page belongs to."""

    Settings = SubcollectionSettings

    def __init__(self, setup: Setup) -> None:
        self._field = setup.config.index.subcollection_default_fieldname
        rules = read_rules(setup.settings.file, "plugin.indexingfilter-subcollection.file")
        self._ignores_case = setup.config.index.subcollection_case_insensitive
        known = _subcollections("\n".join(rules.lines), rules.source)
        self._known = [each.lowered() if self._ignores_case else each for each in known]

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        found: dict[str, list[str]] = {}
        url = crawled.page.url.text.lower() if self._ignores_case else crawled.page.url.text
        for each in self._known:
            if each.has(url):
                found.setdefault(each.key or self._field, []).append(each.name)
        return document.with_fields(found)


class GeoipSettings(Struct, frozen=True):
    """The database of addresses."""

    database: Annotated[
        Path, Setting("A MaxMind database file (City, Country or ASN).", example='"GeoLite2-City.mmdb"')
    ]


class GeoipIndexingFilter:
    """Sets ip and the location and network of the server, from a MaxMind database."""

    Settings = GeoipSettings
    _PATHS: Final[Mapping[str, tuple[str, ...]]] = {
        "continentCode": ("continent", "code"),
        "countryIsoCode": ("country", "iso_code"),
        "countryName": ("country", "names", "en"),
        "cityName": ("city", "names", "en"),
        "postalCode": ("postal", "code"),
        "timeZone": ("location", "time_zone"),
        "autonomousSystemNumber": ("autonomous_system_number",),
        "autonomousSystemOrganization": ("autonomous_system_organization",),
    }

    def __init__(self, setup: Setup) -> None:
        where = "plugin.indexingfilter-geoip.database"
        if find_spec("maxminddb") is None:
            raise ConfigError(
                "the filter geoip needs the package maxminddb",
                where="index.filters",
                hint=f"Run: {install_command('geoip')}",
            )
        import maxminddb

        database = setup.settings.database
        try:
            self._database = maxminddb.open_database(database)
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            raise ConfigError(
                f"{database} cannot be read: {getattr(error, 'strerror', None) or error}",
                where=where,
                hint="Download a database from MaxMind and name it here.",
            ) from error

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        if not crawled.ip:
            return document
        try:
            found: Any = self._database.get(crawled.ip)
        except ValueError:  # not an address, or an IPv6 address and a database of IPv4 addresses
            found = None
        location = found.get("location", {}) if isinstance(found, dict) else {}
        place = (
            f"{location['latitude']},{location['longitude']}" if {"latitude", "longitude"} <= set(location) else None
        )
        return document.with_fields(
            {name: [_at(found, path)] for name, path in self._PATHS.items()}, ip=[crawled.ip], latLon=[place]
        )


class ArbitrarySettings(Struct, frozen=True):
    """The functions to call."""

    functions: Annotated[
        tuple[str, ...],
        Setting(
            "Fields and the functions that compute them, as field=module:function; each gets the document and the "
            "crawled page, and returns a value, a list of values or None.",
            example='["words=mypackage.fields:word_count"]',
        ),
    ] = ()


class ArbitraryIndexingFilter:
    """Sets fields to what Python functions of your own return."""

    Settings = ArbitrarySettings

    def __init__(self, setup: Setup) -> None:
        self._functions = dict(map(_function, setup.settings.functions))

    def fill(self, document: Document, crawled: CrawledPage) -> Document | None:
        for field, function in self._functions.items():
            value = function(document, crawled)
            document = document.with_fields({field: value if isinstance(value, list | tuple) else [value]})
        return document


def expression_row(crawled: CrawledPage) -> Mapping[str, Any]:
    """Return what an expression over documents may use; page metadata take precedence over those of the crawldb."""
    page, datum = crawled.page, crawled.datum
    return {
        "url": page.url.text,
        "key": page.url.key,
        "host": page.url.host,
        "status": short_name(datum.status),
        "fetch_time": datum.fetch_time,
        "modified_time": datum.modified_time,
        "retries": datum.retries,
        "interval": datum.interval,
        "score": datum.score,
        "signature": datum.signature,
        "metadata": {**datum.metadata, **page.metadata},
        "title": page.title,
        "text": page.main_text or page.text,
        "language": page.language,
        "content_type": page.media_type,
    }


def _replacements(lines: Iterable[str]) -> Iterator[_FieldReplacement]:
    host: Pattern | None = None
    url: Pattern | None = None
    for line in (line.strip() for line in lines):
        if not line:
            continue
        name, equals, rest = line.partition("=")
        name = name.strip()
        if not equals or not name or not rest:
            raise _misread(line, "it is not of the form field=/pattern/replacement/")
        if name == "hostmatch":
            host, url = _compiled(rest, line), None
        elif name == "urlmatch":
            host, url = None, _compiled(rest, line)
        else:
            field, _, target = name.partition(":")
            yield _replacement(line, rest, field, target or field, host, url)


def _replacement(
    line: str, text: str, field: str, target: str, host: Pattern | None, url: Pattern | None
) -> _FieldReplacement:
    parts = text[1:].split(text[0])
    if len(parts) not in (2, 3):
        raise _misread(line, "it is not of the form field=/pattern/replacement/")
    source, replacement, flags = (*parts, "")[:3]
    if flags not in ("", "2", "i"):
        raise _misread(line, f"the flag {flags!r} is not supported", "Leave it out, or use i (Java's 2): ignore case.")
    pattern = _compiled(f"(?i){source}" if flags else source, line)
    try:
        compiled = compile_replacement(replacement, pattern)
    except ValueError as error:
        raise _misread(line, f"the replacement {error}") from error
    return _FieldReplacement(field, target, pattern, compiled, host, url)


def _compiled(text: str, line: str) -> Pattern:
    try:
        return compile_pattern(text)
    except ValueError as error:
        raise _misread(line, f"the pattern {error}") from error


def _misread(line: str, problem: str, hint: str = "") -> ConfigError:
    return ConfigError(f"{line!r}: {problem}", where="index.replace_regexp", hint=hint)


def _subcollections(text: str, source: str) -> tuple[_Subcollection, ...]:
    """Read Nutch's subcollections.xml."""
    found: list[_Subcollection] = []
    inside: list[str] = []

    def start(name: str, attributes: Mapping[str, str]) -> None:
        inside.append(name)
        if name == "subcollection":
            found.append(_Subcollection())

    def text_of(data: str) -> None:
        name = inside[-1] if inside else ""
        if found and "subcollection" in inside and name in _Subcollection.__struct_fields__:
            setattr(found[-1], name, getattr(found[-1], name) + data)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: inside.pop()
    parser.CharacterDataHandler = text_of
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise RuleError(f"is not XML: {expat.ErrorString(error.code)}", file=source, line=error.lineno) from error
    for each in found:
        each.name, each.key = each.name.strip() or each.id.strip(), each.key.strip()
    return tuple(found)


def _function(text: str) -> tuple[str, Callable[[Document, CrawledPage], Any]]:
    where = "plugin.indexingfilter-arbitrary.functions"
    field, equals, target = text.partition("=")
    module, colon, name = target.partition(":")
    if not (equals and colon and field.strip() and module.strip() and name.strip()):
        raise ConfigError(f"{text!r} is not of the form field=module:function", where=where)
    try:
        function = getattr(import_module(module.strip()), name.strip())
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{target.strip()} cannot be imported: {error}", where=where) from error
    return field.strip(), function


def _at(found: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found
