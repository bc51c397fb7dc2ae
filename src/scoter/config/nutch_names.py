"""Nutch's names that are not declared with a setting.

A property is either in a setting's ``nutch=(...)`` or here, with the reason why it has no counterpart. Class and
plug-in names are translated here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ALWAYS = "always recorded, with the raw response, in the WARC file"
_NO_SCORING = "this scoring filter is not implemented yet"
_TIKA = "Tika is not used; each type has its own parser"
_RABBIT = "there is no built-in RabbitMQ publisher; configure a plug-in in [plugin.NAME]"
_BAYES = "configure the parse filter naivebayes in [plugin.parsefilter-naivebayes]: "
_FIELDS = "the parse filter regex reads its rules from a file; see file in [plugin.parsefilter-regex]"
_PACKAGES = "plug-ins are installed packages; settings such as urlfilter.order activate them"
_GUARD = "the address guard is always on; see fetch.allow_networks"
_RULES = "write the rules in a file; see "
_BROWSER = "only Chromium is supported, without a driver; see [browser]"
_SCOPES = "there is one chain for all scopes; see urlnormalizer.order"
_HADOOP = "belongs to Hadoop, which Scoter does not use"
_WRITER = "belongs to an index writer; configure it in [plugin.NAME]"

NO_COUNTERPART: Final[Mapping[str, str]] = {
    "fetcher.threads.start.delay": "requests are not threads",
    "fetcher.threads.timeout.divisor": "set the time itself: fetch.hung_after",
    "fetcher.follow.outlinks.depth.divisor": "has no effect in Nutch either",
    "fetcher.publisher": "publishers are active if publisher.order names them",
    "http.auth.file": "the file format differs; see http.auth_file",
    "http.useHttp11": "HTTP/1.1 is always supported; see http.http2",
    "http.accept.charset": "the header is obsolete (RFC 9110 12.5.2); http.headers can send it",
    "http.connection.pool.okhttp": "connections are pooled within fetch.threads",
    "http.filter.ipaddress.include": _GUARD,
    "http.filter.ipaddress.exclude": _GUARD,
    "http.log.exceptions.suppress.stack": "errors of servers are logged without a stack trace",
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
    "tika.extractor.boilerpipe.algorithm": "see parse.extractor",
    "tika.extractor.boilerpipe.mime.types": "see parse.extractor",
    "tika.parse.embedded": _TIKA,
    "indexer.indexwriters.file": "list the writers in index.writers and configure them in [plugin.NAME]",
    "exchanges.exchanges.file": "each writer in index.writers gets every document",
    "scoring.similarity.model": "cosine is the only one",
    "plugin.folders": _PACKAGES,
    "plugin.auto-activation": _PACKAGES,
    "plugin.includes": "settings such as urlfilter.order activate plug-ins; an import translates this property",
    "plugin.excludes": "settings such as urlfilter.order activate plug-ins; an import leaves these out",
    "urlnormalizer.basic.host.idn": "hosts are always in ASCII, as in the URL standard",
    "urlnormalizer.basic.host.idna2008": "the URL standard's IDNA processing is used",
    "urlfilter.automaton.file": "the filter regex reads these rules; see urlfilter.regex_file",
    "nutch.jexl.disable.sandbox": "expressions cannot run code",
    "take.screenshot": "rendered pages are stored as HTML, without screenshots",
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
    "rabbitmq.publisher.server.uri": _RABBIT,
    "rabbitmq.publisher.binding": _RABBIT,
    "rabbitmq.publisher.binding.arguments": _RABBIT,
    "rabbitmq.publisher.exchange.name": _RABBIT,
    "rabbitmq.publisher.exchange.options": _RABBIT,
    "rabbitmq.publisher.queue.name": _RABBIT,
    "rabbitmq.publisher.queue.options": _RABBIT,
    "rabbitmq.publisher.routingkey": _RABBIT,
    "rabbitmq.publisher.headers.static": _RABBIT,
}

FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("mapreduce.", "mapred.", "hadoop.", "yarn.", "dfs.", "fs.", "io."), _HADOOP),
    "rabbitmq.": _RABBIT,
    **dict.fromkeys(("solr.", "elastic.", "opensearch.", "cloudsearch.", "indexer.csv."), _WRITER),
    "tika.": _TIKA,
    **dict.fromkeys(("selenium.", "webdriver.", "htmlunit.", "interactiveselenium."), _BROWSER),
    **dict.fromkeys(("urlnormalizer.order.", "urlnormalizer.scope."), _SCOPES),
}

# Values that cannot be derived from a class name.
WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "db.fetch_schedule_class": {
        "org.apache.nutch.crawl.DefaultFetchSchedule": "default",
        "org.apache.nutch.crawl.AdaptiveFetchSchedule": "adaptive",
        "org.apache.nutch.crawl.MimeAdaptiveFetchSchedule": "mime-adaptive",
    },
    "db.signature_class": {
        "org.apache.nutch.crawl.MD5Signature": "md5",
        "org.apache.nutch.crawl.TextMD5Signature": "text-md5",
        "org.apache.nutch.crawl.TextProfileSignature": "text-profile",
    },
    "parse.extractor": {"boilerpipe": "resiliparse"},
}

# Packages of Nutch classes whose plug-in has another name in Scoter.
PACKAGES: Final[Mapping[str, str]] = {
    "staticfield": "static",
    "jexl": "expression",
    "lang": "language",
    "domainblacklist": "domaindenylist",
    "automaton": "regex",
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
        f"urlfilter-{name}": (("urlfilter.order", name),)
        for name in ("regex", "prefix", "suffix", "domain", "domaindenylist", "fast", "validator")
    },
    "urlfilter-automaton": (("urlfilter.order", "regex"),),
    "urlfilter-domainblacklist": (("urlfilter.order", "domaindenylist"),),
    "urlfilter-ignoreexempt": (("urlfilter.exemptions", "ignoreexempt"),),
    **{
        f"urlnormalizer-{name}": (("urlnormalizer.order", name),)
        for name in ("basic", "regex", "pass", "ajax", "host", "protocol", "querystring", "slash")
    },
    **{f"parse-{name}": (("parse.parsers", name),) for name in ("html", "zip", "feed")},
    # Tika parses every type; Scoter has a parser for each.
    "parse-tika": tuple(
        ("parse.parsers", name) for name in ("html", "text", "feed", "xml", "pdf", "office", "zip", "image")
    ),
    "parse-js": (("parse.parsers", "script"),),
    "parse-ext": (("parse.parsers", "command"),),
    "feed": (("parse.parsers", "feed"), ("index.filter_order", "feed")),
    "headings": (("parse.filter_order", "headings"),),
    "parse-metatags": (("parse.filter_order", "metatags"),),
    "parsefilter-regex": (("parse.filter_order", "regex"),),
    "parsefilter-naivebayes": (("parse.filter_order", "naivebayes"),),
    "language-identifier": (("parse.filter_order", "language"), ("index.filter_order", "language")),
    "creativecommons": (("parse.filter_order", "creativecommons"), ("index.filter_order", "creativecommons")),
    "microformats-reltag": (("parse.filter_order", "reltag"), ("index.filter_order", "reltag")),
    **{
        f"index-{name}": (("index.filter_order", name),)
        for name in ("basic", "more", "anchor", "metadata", "static", "replace", "links", "geoip", "arbitrary")
    },
    "index-jexl-filter": (("index.filter_order", "expression"),),
    "mimetype-filter": (("index.filter_order", "mimetype"),),
    "subcollection": (("index.filter_order", "subcollection"),),
    "tld": (("index.filter_order", "tld"),),
    **{f"scoring-{name}": (("scoring.filter_order", name),) for name in ("opic", "depth")},
    **{
        f"indexer-{name}": (("index.writers", name),)
        for name in ("solr", "elastic", "cloudsearch", "csv", "kafka", "rabbit", "dummy")
    },
    "indexer-opensearch-1x": (("index.writers", "opensearch"),),
    "nutch-extensionpoints": (),
    **{f"lib-{name}": () for name in ("http", "nekohtml", "xml", "regex-filter", "selenium", "htmlunit", "rabbitmq")},
}

UNTRANSLATED_PLUGINS: Final[Mapping[str, str]] = {
    **{f"scoring-{name}": _NO_SCORING for name in ("link", "metadata", "orphan", "similarity")},
    "urlmeta": _NO_SCORING,
    "parse-swf": "Flash is obsolete",
    "parsefilter-debug": "use `scoter parsechecker`",
    "publish-rabbitmq": _RABBIT,
    "exchange-jexl": "each writer in index.writers gets every document",
}
