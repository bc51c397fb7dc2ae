"""Every section of the configuration, and ``Config``, the record that holds them.

- ``http``       who the crawler says it is; HTTP and robots.txt
- ``fetch``      queues, delays, limits, redirects, allowed addresses
- ``protocols``  local files, FTP and the browser
- ``urls``       URL filters and normalisers
- ``db``         the crawldb and ``generate``
- ``pages``      parsing, languages and indexing
- ``links``      linkdb, link graph, scoring and hostdb
- ``jobs``       the engine, files on disk, sitemaps, publishers
- ``corpus``     texts for language models
- ``live``       the live service and its HTTP API
- ``cluster``    Kafka and Cassandra, for a live service on several machines
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from scoter.config.sections.cluster import CassandraSettings, KafkaClusterSettings
from scoter.config.sections.corpus import CorpusSettings
from scoter.config.sections.db import CrawldbSettings, GenerateSettings
from scoter.config.sections.fetch import FetchSettings
from scoter.config.sections.http import AgentSettings, HttpSettings
from scoter.config.sections.jobs import EngineSettings, PublisherSettings, SitemapSettings, StoreSettings
from scoter.config.sections.links import HostdbSettings, LinkdbSettings, LinkSettings, ScoringSettings
from scoter.config.sections.live import LiveSettings, WebSettings
from scoter.config.sections.pages import IndexSettings, LanguageSettings, ParseSettings
from scoter.config.sections.protocols import BrowserSettings, FileSettings, FtpSettings
from scoter.config.sections.urls import UrlFilterSettings, UrlNormalizerSettings
from scoter.config.settings import Field, Section, fields_of
from scoter.config.sources import GivenValue


class Config(msgspec.Struct, frozen=True):
    """The effective settings, read once. Two are equal if all values are, whatever their origin.

    ``plugin`` holds what the tables ``[plugin.NAME]`` gave, by name with ``-`` written as ``_``;
    a plug-in reads its own through ``scoter.config.plugin_settings``.
    """

    agent: AgentSettings = AgentSettings()
    fetch: FetchSettings = FetchSettings()
    http: HttpSettings = HttpSettings()
    file: FileSettings = FileSettings()
    ftp: FtpSettings = FtpSettings()
    browser: BrowserSettings = BrowserSettings()
    urlfilter: UrlFilterSettings = UrlFilterSettings()
    urlnormalizer: UrlNormalizerSettings = UrlNormalizerSettings()
    generate: GenerateSettings = GenerateSettings()
    db: CrawldbSettings = CrawldbSettings()
    parse: ParseSettings = ParseSettings()
    lang: LanguageSettings = LanguageSettings()
    scoring: ScoringSettings = ScoringSettings()
    linkdb: LinkdbSettings = LinkdbSettings()
    link: LinkSettings = LinkSettings()
    hostdb: HostdbSettings = HostdbSettings()
    sitemap: SitemapSettings = SitemapSettings()
    index: IndexSettings = IndexSettings()
    corpus: CorpusSettings = CorpusSettings()
    publisher: PublisherSettings = PublisherSettings()
    store: StoreSettings = StoreSettings()
    engine: EngineSettings = EngineSettings()
    live: LiveSettings = LiveSettings()
    web: WebSettings = WebSettings()
    kafka: KafkaClusterSettings = KafkaClusterSettings()
    cassandra: CassandraSettings = CassandraSettings()
    plugin: Mapping[str, Mapping[str, GivenValue]] = {}

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


@lru_cache(maxsize=1)
def former_names() -> Mapping[str, str]:
    """Return the names that settings had in earlier versions, with those they have now."""
    return {former: field.name for field in fields().values() for former in field.setting.formerly}


def _fields() -> Iterator[Field]:
    for section, struct in SECTIONS.items():
        yield from fields_of(section, struct)
