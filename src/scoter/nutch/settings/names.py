"""Nutch's names that are not declared with a setting.

A property is either in a setting's ``nutch=(...)`` or here, with the reason why it has no counterpart. Class and
plug-in names are translated here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ALWAYS = "always recorded, with the raw response, in the WARC file"
_TIKA = "Tika is not used; each type has its own parser"
_RABBIT = "see [plugin.publisher-rabbitmq]: "
_BAYES = "configure the parse filter naivebayes in [plugin.parsefilter-naivebayes]: "
_FIELDS = "the parse filter regex reads its rules from a file; see file in [plugin.parsefilter-regex]"
_PACKAGES = "plug-ins are installed packages; settings such as urlfilter.filters activate them"
_GUARD = "the address guard is always on; see fetch.allow_networks"
_RULES = "rules are in a file, which an import writes; see "
_BROWSER = "only Chromium is supported, without a driver; see [browser]"
_SCOPES = "there is one chain for all scopes; see urlnormalizer.normalizers"
_SCREENSHOTS = "rendered pages are stored as HTML, without screenshots"
_GEOIP = "the filter geoip reads a database file; see [plugin.indexingfilter-geoip]"
_FUNCTIONS = "the filter arbitrary calls Python functions; see [plugin.indexingfilter-arbitrary]"
_IMPORT = "pass the file to `scoter config import-nutch` together with this one"
_TLS = "libcurl's own choice is used"
_HADOOP = "belongs to Hadoop, which Scoter does not use"
_WRITER = "belongs to an index writer; configure it in [plugin.NAME]"

NO_COUNTERPART: Final[Mapping[str, str]] = {
    "fetcher.threads.start.delay": "requests are not threads",
    "fetcher.threads.timeout.divisor": "set the time itself: fetch.hung_after",
    "fetcher.follow.outlinks.depth.divisor": "has no effect in Nutch either",
    "fetcher.publisher": "publishers are active if publisher.publishers names them",
    "http.auth.file": "the file format differs; see http.auth_file",
    "http.useHttp11": "HTTP/1.1 is always supported; see http.http2",
    "http.accept.charset": "the header is obsolete (RFC 9110 12.5.2); http.headers can send it",
    "http.connection.pool.okhttp": "connections are pooled within fetch.threads",
    "http.filter.ipaddress.include": _GUARD,
    "http.filter.ipaddress.exclude": _GUARD,
    "http.log.exceptions.suppress.stack": "errors of servers are logged without a stack trace",
    "http.verbose": "requests and responses are in the archive",
    "http.max.delays": "a request waits until its host is free; see fetch.hung_after",
    "http.tls.supported.protocols": _TLS,
    "http.tls.supported.cipher.suites": _TLS,
    "subcollection.metadata.source": "subcollections are chosen by URL only",
    "parse.plugin.file": "each parser declares its types; see parse.parsers and parse.types",
    "encodingdetector.charset.min.confidence": "the detector is used only if nothing else reveals the encoding",
    "parser.html.impl": "there is one HTML parser, which follows the HTML standard",
    "parsefilter.naivebayes.trainfile": _BAYES + "train_file",
    "parsefilter.naivebayes.wordlist": _BAYES + "word_file",
    "parsefilter.regex.file": _FIELDS,
    "parsefilter.regex.rules": _FIELDS,
    "creativecommons.exclude.unlicensed": "use index.filter_expr to leave out unlicensed pages",
    "tika.config.file": _TIKA,
    "tika.uppercase.element.names": _TIKA,
    "tika.extractor.boilerpipe.algorithm": "see parse.main_text",
    "tika.extractor.boilerpipe.mime.types": "see parse.main_text",
    "tika.parse.embedded": _TIKA,
    "indexer.indexwriters.file": _IMPORT,
    "exchanges.exchanges.file": _IMPORT,
    "scoring.similarity.model": "cosine is the only one",
    "plugin.folders": _PACKAGES,
    "plugin.auto-activation": _PACKAGES,
    "plugin.includes": "settings such as urlfilter.filters activate plug-ins; an import translates this property",
    "plugin.excludes": "settings such as urlfilter.filters activate plug-ins; an import leaves these out",
    "urlnormalizer.basic.host.idn": "hosts are always in ASCII, as in the URL standard",
    "urlnormalizer.basic.host.idna2008": "the URL standard's IDNA processing is used",
    "nutch.jexl.disable.sandbox": "expressions cannot run code",
    "take.screenshot": _SCREENSHOTS,
    "screenshot.location": _SCREENSHOTS,
    "file.content.ignored": "has no effect in Nutch either",
    "ftp.server.timeout": "connections are opened for each request; see ftp.timeout",
    "ftp.follow.talk": "the dialogue with FTP servers is not logged",
    "mime.types.file": "content types are detected by built-in rules; see parse.mime_type_magic",
    "index.static.fieldsep": "index.static is a list; an import splits it by this",
    "urlfilter.automaton.rules": _RULES + "urlfilter.automaton_file",
    **{f"store.{name}": _ALWAYS for name in ("ip.address", "http.request", "http.headers", "protocol.versions")},
    "segment.reader.content.recode": "an option of readseg",
    "htmlunit.enable.javascript": "the browser always runs scripts; see [browser]",
    "selenium.driver": _BROWSER,
    "interactiveselenium.handlers": _BROWSER,
    "urlfilter.regex.rules": _RULES + "urlfilter.regex_file",
    "urlfilter.domain.rules": _RULES + "urlfilter.domain_file",
    "urlfilter.prefix.rules": _RULES + "urlfilter.prefix_file",
    "urlnormalizer.regex.rules": _RULES + "urlnormalizer.regex_file",
    "urlnormalizer.hosts.rules": _RULES + "urlnormalizer.host_file",
    "urlnormalizer.slashes.rules": _RULES + "urlnormalizer.slash_file",
    "rabbitmq.publisher.server.uri": _RABBIT + "url, username and password",
    "rabbitmq.publisher.binding": _RABBIT + "bind",
    "rabbitmq.publisher.binding.arguments": _RABBIT + "bindings have no arguments; the exchange is direct",
    "rabbitmq.publisher.exchange.name": _RABBIT + "exchange",
    "rabbitmq.publisher.exchange.options": _RABBIT + "the exchange is direct and durable",
    "rabbitmq.publisher.queue.name": _RABBIT + "queue",
    "rabbitmq.publisher.queue.options": _RABBIT + "the queue is durable",
    "rabbitmq.publisher.routingkey": _RABBIT + "routing_key",
    "rabbitmq.publisher.headers.static": _RABBIT + "headers",
}

FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mapreduce.", "mapred.", "hadoop.", "yarn.", "dfs.", "fs.", "io."), _HADOOP),
    "rabbitmq.": _RABBIT,
    **dict.fromkeys(("solr.", "elastic.", "opensearch.", "cloudsearch.", "indexer.csv."), _WRITER),
    "tika.": _TIKA,
    "any23.": "structured data is read without a plug-in; see parse.metadata",
    "index.geoip.": _GEOIP,
    **dict.fromkeys(("index.arbitrary.", "arbitrary."), _FUNCTIONS),
    **dict.fromkeys(("selenium.", "webdriver.", "htmlunit.", "interactiveselenium."), _BROWSER),
    **dict.fromkeys(("urlnormalizer.order.", "urlnormalizer.scope."), _SCOPES),
}

# Values that cannot be derived from a class name.
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "db.schedule": {
        "org.apache.nutch.crawl.DefaultFetchSchedule": "default",
        "org.apache.nutch.crawl.AdaptiveFetchSchedule": "adaptive",
        "org.apache.nutch.crawl.MimeAdaptiveFetchSchedule": "mime-adaptive",
    },
    "db.signature": {
        "org.apache.nutch.crawl.MD5Signature": "md5",
        "org.apache.nutch.crawl.TextMD5Signature": "text-md5",
        "org.apache.nutch.crawl.TextProfileSignature": "text-profile",
    },
    "parse.main_text": {"boilerpipe": "true", "none": "false"},
}

# Packages of Nutch classes whose plug-in has another name in Scoter.
PACKAGES: Final[Mapping[str, str]] = {
    "staticfield": "static",
    "jexl": "expression",
    "lang": "language",
    "domainblacklist": "domaindenylist",
}

# Plug-in ids that are not POINT-NAME, or whose name differs; () means that none is needed.
PLUGINS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    **{f"protocol-{name}": (("fetch.protocols", name),) for name in ("http", "file", "ftp")},
    **{f"protocol-{name}": (("fetch.protocols", "http"),) for name in ("httpclient", "okhttp")},
    **{
        f"protocol-{name}": (("fetch.protocols", "browser"),)
        for name in ("htmlunit", "selenium", "interactiveselenium")
    },
    **{
        f"urlfilter-{name}": (("urlfilter.filters", name),)
        for name in ("regex", "automaton", "prefix", "suffix", "domain", "domaindenylist", "fast", "validator")
    },
    "urlfilter-domainblacklist": (("urlfilter.filters", "domaindenylist"),),
    "urlfilter-ignoreexempt": (("urlfilter.exemptions", "ignoreexempt"),),
    **{
        f"urlnormalizer-{name}": (("urlnormalizer.normalizers", name),)
        for name in ("basic", "regex", "pass", "ajax", "host", "protocol", "querystring", "slash")
    },
    **{f"parse-{name}": (("parse.parsers", name),) for name in ("html", "zip", "feed")},
    # Tika parses every type; Scoter has a parser for each.
    "parse-tika": tuple(
        ("parse.parsers", name) for name in ("html", "text", "feed", "xml", "pdf", "office", "zip", "image")
    ),
    "parse-js": (("parse.parsers", "script"),),
    "parse-ext": (("parse.parsers", "command"),),
    "feed": (("parse.parsers", "feed"), ("index.filters", "feed")),
    "headings": (("parse.filters", "headings"),),
    "parse-metatags": (("parse.filters", "metatags"),),
    "parsefilter-regex": (("parse.filters", "regex"),),
    "parsefilter-naivebayes": (("parse.filters", "naivebayes"),),
    "language-identifier": (("parse.filters", "language"), ("index.filters", "language")),
    "creativecommons": (("parse.filters", "creativecommons"), ("index.filters", "creativecommons")),
    "microformats-reltag": (("parse.filters", "reltag"), ("index.filters", "reltag")),
    **{
        f"index-{name}": (("index.filters", name),)
        for name in ("basic", "more", "anchor", "metadata", "static", "replace", "links", "geoip", "arbitrary")
    },
    "index-jexl-filter": (("index.filters", "expression"),),
    "mimetype-filter": (("index.filters", "mimetype"),),
    "subcollection": (("index.filters", "subcollection"),),
    "tld": (("index.filters", "tld"),),
    "urlmeta": (("scoring.filters", "urlmeta"), ("index.filters", "urlmeta")),
    **{
        f"scoring-{name}": (("scoring.filters", name),)
        for name in ("opic", "depth", "link", "metadata", "orphan", "similarity")
    },
    **{f"indexer-{name}": (("index.writers", name),) for name in ("solr", "csv", "kafka", "dummy")},
    "indexer-elastic": (("index.writers", "elasticsearch"),),
    "indexer-opensearch-1x": (("index.writers", "opensearch"),),
    "indexer-rabbit": (("index.writers", "rabbitmq"),),
    "any23": (),
    "publish-rabbitmq": (("publisher.publishers", "rabbitmq"),),
    "exchange-jexl": (),
    "nutch-extensionpoints": (),
    **{f"lib-{name}": () for name in ("http", "nekohtml", "xml", "regex-filter", "selenium", "htmlunit", "rabbitmq")},
}

UNTRANSLATED_PLUGINS: Final[Mapping[str, str]] = {
    "parse-swf": "Flash is obsolete",
    "parsefilter-debug": "use `scoter parsechecker`",
    "indexer-cloudsearch": "closed to new customers by Amazon; use OpenSearch, see [plugin.indexwriter-opensearch]",
}

# About plug-ins that need no counterpart, and about counterparts that differ.
PLUGIN_NOTES: Final[Mapping[str, str]] = {
    "any23": "microdata, RDFa, microformats and JSON-LD are read without a plug-in; see parse.metadata",
    "exchange-jexl": "routes in index.writers_file; `scoter config import-nutch` translates exchanges.xml",
    "nutch-extensionpoints": "the extension points are built in",
    "lib-http": "part of the protocol http",
    "lib-nekohtml": "the HTML parser follows the HTML standard",
    "lib-xml": "the parsers bring what they need",
    "lib-regex-filter": "part of the URL filter regex",
    "lib-selenium": "the protocol browser drives Chromium without it",
    "lib-htmlunit": "the protocol browser drives Chromium without it",
    "lib-rabbitmq": "the extra rabbitmq brings a client",
    "protocol-httpclient": "basic, digest and NTLM authentication: http.auth_file",
    "protocol-interactiveselenium": "without handlers",
    "publish-rabbitmq": "progress of a fetch, not an event for each page; with the extra rabbitmq",
    "parse-tika": "old Office files, RTF, EPUB and mail: parser wide, with the extra documents",
}

EXTENSION_POINTS: Final[Mapping[str, str]] = {
    "Protocol": "protocol",
    "URLFilter": "urlfilter",
    "URLExemptionFilter": "urlexemption",
    "URLNormalizer": "urlnormalizer",
    "Parser": "parser",
    "HtmlParseFilter": "parsefilter",
    "ScoringFilter": "scoring",
    "IndexingFilter": "indexingfilter",
    "Exchange": "exchange",
    "IndexWriter": "indexwriter",
    "SegmentMergeFilter": "segmentmergefilter",
    "FetchSchedule": "schedule",
    "Signature": "signature",
    "NutchPublisher": "publisher",
    "CrawlDatumProcessor": "hostprocessor",
}
"""Nutch's extension points and pluggable classes, with the extension points here."""
