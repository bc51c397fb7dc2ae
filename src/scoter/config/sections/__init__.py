"""Every section of the configuration, and the one record that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from scoter.config.origins import Given
from scoter.config.sections.db import Db, Generate
from scoter.config.sections.fetch import Fetch
from scoter.config.sections.http import Agent, Http
from scoter.config.sections.links import Hostdb, Link, Linkdb, Scoring
from scoter.config.sections.live import Live
from scoter.config.sections.pages import Index, Lang, Parse
from scoter.config.sections.protocols import Browser, File, Ftp
from scoter.config.sections.running import Engine, Publisher, Sitemap, Store
from scoter.config.sections.urls import Urlfilter, Urlnormalizer
from scoter.config.sections.web import Web
from scoter.config.settings import Field, Section, fields_of


class Config(msgspec.Struct, frozen=True):
    """The effective settings, read once; equal when every value is, wherever it came from.

    ``plugin`` holds what the tables ``[plugin.NAME]`` gave, by name with ``-`` written as ``_``;
    a plug-in reads its own through ``scoter.config.plugin_settings``.
    """

    agent: Agent = Agent()
    fetch: Fetch = Fetch()
    http: Http = Http()
    file: File = File()
    ftp: Ftp = Ftp()
    browser: Browser = Browser()
    urlfilter: Urlfilter = Urlfilter()
    urlnormalizer: Urlnormalizer = Urlnormalizer()
    generate: Generate = Generate()
    db: Db = Db()
    parse: Parse = Parse()
    lang: Lang = Lang()
    scoring: Scoring = Scoring()
    linkdb: Linkdb = Linkdb()
    link: Link = Link()
    hostdb: Hostdb = Hostdb()
    sitemap: Sitemap = Sitemap()
    index: Index = Index()
    publisher: Publisher = Publisher()
    store: Store = Store()
    engine: Engine = Engine()
    live: Live = Live()
    web: Web = Web()
    plugin: Mapping[str, Mapping[str, Given]] = {}

    def value(self, name: str) -> Any:
        """Return the value of a setting by its full name, such as ``fetch.delay``."""
        section, _, key = name.partition(".")
        return getattr(getattr(self, section), key)


SECTIONS: Final[Mapping[str, type[Section]]] = {
    name: type(default)
    for name, default in zip(Config.__struct_fields__, Config.__struct_defaults__, strict=True)
    if isinstance(default, Section)
}


@lru_cache(maxsize=1)
def fields() -> Mapping[str, Field]:
    """Return every setting by its full name, in the order of the docs."""
    return {field.name: field for field in _fields()}


def _fields() -> Iterator[Field]:
    for section, struct in SECTIONS.items():
        yield from fields_of(section, struct)
