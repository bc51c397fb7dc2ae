"""What is known of Nutch's names beyond the settings that carry them.

A property either stands in some setting's ``nutch=(...)`` or here, with the reason why Scoter
has nothing like it. The names of classes and plug-ins are translated here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ALWAYS = "always recorded, with the raw answer in the WARC file"
_NO_SCORING = "this scoring filter is not built yet"
_TIKA = "Tika is not used; each type has a parser of its own"
_RABBIT = "no RabbitMQ publisher is built in; a plug-in's settings stand in [plugin.NAME]"
_BAYES = "the parse filter naivebayes is told in [plugin.parsefilter-naivebayes]: "
_FIELDS = "the parse filter regex reads such rules from a file; see file in [plugin.parsefilter-regex]"
_PACKAGES = "plug-ins are installed packages; the chains name those that are active"
_GUARD = "the address guard is always on; see fetch.allow_networks"
_RULES = "rules stand in a file; see "
_BROWSER = "one kind of browser is driven, and directly; see [browser]"
_HADOOP = "Hadoop's own; Scoter runs without it"
_WRITER = "an index writer's own; its settings stand in [plugin.NAME]"

NO_COUNTERPART: Final[Mapping[str, str]] = {
    "fetcher.threads.start.delay": "requests cost no threads whose start could be spread",
    "fetcher.threads.timeout.divisor": "fetch.hung_after says the time itself",
    "fetcher.follow.outlinks.depth.divisor": "it has no effect on what Nutch follows either",
    "fetcher.publisher": "publishers named in publisher.order are told",
    "http.auth.file": "credentials are written in another form; see http.auth_file",
    "http.useHttp11": "HTTP/1.1 is always spoken; see http.http2",
    "http.accept.charset": "the header is obsolete (RFC 9110 12.5.2); http.headers can send it",
    "http.connection.pool.okhttp": "connections are pooled within fetch.threads",
    "http.filter.ipaddress.include": _GUARD,
    "http.filter.ipaddress.exclude": _GUARD,
    "http.log.exceptions.suppress.stack": "what the web does wrong is logged without a stack",
    "parse.plugin.file": "each parser names its types; see parse.parsers and parse.types",
    "encodingdetector.charset.min.confidence": "the detector is asked only where nothing else tells",
    "parser.html.impl": "there is one HTML parser, which follows the HTML standard",
    "parsefilter.naivebayes.trainfile": _BAYES + "train_file",
    "parsefilter.naivebayes.wordlist": _BAYES + "word_file",
    "parsefilter.regex.file": _FIELDS,
    "parsefilter.regex.rules": _FIELDS,
    "creativecommons.exclude.unlicensed": "a page without a licence is a page; index.filter_expr can keep it out",
    "tika.config.file": _TIKA,
    "tika.uppercase.element.names": _TIKA,
    "tika.extractor.boilerpipe.algorithm": "see parse.extractor",
    "tika.extractor.boilerpipe.mime.types": "see parse.extractor",
    "tika.parse.embedded": _TIKA,
    "indexer.indexwriters.file": "index.writers names the writers, [plugin.NAME] holds their settings",
    "exchanges.exchanges.file": "every document goes to each writer of index.writers",
    "scoring.similarity.model": "cosine is the only one",
    "plugin.folders": _PACKAGES,
    "plugin.auto-activation": _PACKAGES,
    "plugin.includes": "the chains name what is active; an import translates it into them",
    "plugin.excludes": "the chains name what is active; an import leaves these out of them",
    "urlnormalizer.basic.host.idn": "hosts are always kept in ASCII, as the URL standard does",
    "urlnormalizer.basic.host.idna2008": "the URL standard's IDNA processing is used",
    "urlfilter.automaton.file": "the filter regex reads such rules, in linear time; see urlfilter.regex_file",
    "nutch.jexl.disable.sandbox": "expressions cannot run code",
    "take.screenshot": "a page is kept as its browser made it, as HTML; no pictures are taken",
    "store.ip.address": _ALWAYS,
    "store.http.request": _ALWAYS,
    "store.http.headers": _ALWAYS,
    "store.protocol.versions": _ALWAYS,
    "segment.reader.content.recode": "an option of readseg",
    "htmlunit.enable.javascript": "the browser is there to run scripts; see [browser]",
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
    "mapreduce.": _HADOOP,
    "mapred.": _HADOOP,
    "hadoop.": _HADOOP,
    "yarn.": _HADOOP,
    "dfs.": _HADOOP,
    "fs.": _HADOOP,
    "io.": _HADOOP,
    "rabbitmq.": _RABBIT,
    "solr.": _WRITER,
    "elastic.": _WRITER,
    "opensearch.": _WRITER,
    "cloudsearch.": _WRITER,
    "indexer.csv.": _WRITER,
    "tika.": _TIKA,
    "selenium.": _BROWSER,
    "webdriver.": _BROWSER,
    "htmlunit.": _BROWSER,
    "interactiveselenium.": _BROWSER,
    "urlnormalizer.order.": "one chain serves every scope; see urlnormalizer.order",
    "urlnormalizer.scope.": "one chain serves every scope; see urlnormalizer.order",
}

# Classes and words that are not simply lower-cased or cut out of a class name.
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

# Packages of Nutch's classes whose plug-in has another name here.
PACKAGES: Final[Mapping[str, str]] = {
    "staticfield": "static",
    "jexl": "expression",
    "lang": "language",
    "domainblacklist": "domaindenylist",
    "automaton": "regex",
}

# Plug-in ids that are not POINT-NAME, or whose name differs here; () means nothing to name.
_NOT_NEEDED: Final[tuple[tuple[str, str], ...]] = ()
PLUGINS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "protocol-http": (("fetch.protocols", "http"),),
    "protocol-httpclient": (("fetch.protocols", "http"),),
    "protocol-okhttp": (("fetch.protocols", "http"),),
    "protocol-file": (("fetch.protocols", "file"),),
    "protocol-ftp": (("fetch.protocols", "ftp"),),
    "protocol-htmlunit": (("fetch.protocols", "browser"),),
    "protocol-selenium": (("fetch.protocols", "browser"),),
    "protocol-interactiveselenium": (("fetch.protocols", "browser"),),
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
    # Tika reads whatever it is given; here each type has a parser of its own.
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
    "nutch-extensionpoints": _NOT_NEEDED,
    "lib-http": _NOT_NEEDED,
    "lib-nekohtml": _NOT_NEEDED,
    "lib-xml": _NOT_NEEDED,
    "lib-regex-filter": _NOT_NEEDED,
    "lib-selenium": _NOT_NEEDED,
    "lib-htmlunit": _NOT_NEEDED,
    "lib-rabbitmq": _NOT_NEEDED,
}

UNTRANSLATED_PLUGINS: Final[Mapping[str, str]] = {
    **{f"scoring-{name}": _NO_SCORING for name in ("link", "metadata", "orphan", "similarity")},
    "urlmeta": _NO_SCORING,
    "parse-swf": "no browser shows Flash any more, and nothing here reads it",
    "parsefilter-debug": "`scoter parsechecker` shows what is read of a page",
    "publish-rabbitmq": _RABBIT,
    "exchange-jexl": "every document goes to each writer of index.writers",
}
