"""Where the work of Nutch's classes is done here, for docs/nutch-counterparts.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CLASS_MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "crawl": {
        "CrawlDatum": "core/datum.py batch/crawldir/schemas.py",
        "CrawlDb": "batch/jobs/updatedb.py",
        "CrawlDbFilter": "batch/urls/chains.py",
        "CrawlDbReducer": "core/update.py batch/update/transition.py",
        "CrawlDbReader": "batch/jobs/readdb.py",
        "CrawlDbMerger": "batch/jobs/mergedb.py",
        "Injector, InjectMapper, InjectReducer": "batch/jobs/inject.py batch/urls/seeds.py",
        "Generator": "batch/jobs/generate.py",
        "Selector, SelectorEntry": "batch/fetchlists/candidates.py batch/fetchlists/picker.py",
        "SelectorInverseMapper": "batch/fetchlists/writer.py",
        "PartitionReducer, GeneratorOutputFormat": "batch/fetchlists/writer.py",
        "URLPartitioner": "batch/fetchlists/lists.py",
        "LinkDb, LinkDbFilter, Inlinks": "batch/jobs/invertlinks.py batch/crawldir/linkdb.py",
        "LinkDbReader": "batch/jobs/readlinkdb.py",
        "LinkDbMerger": "batch/jobs/mergelinkdb.py",
        "FetchSchedule": "core/schedule.py builtin/schedules.py",
        "Signature, MD5Signature, TextProfileSignature": "core/signature.py builtin/signatures.py",
        "DeduplicationJob": "batch/jobs/dedup.py",
        "Crawl, bin/crawl": "batch/jobs/crawl.py",
    },
    "fetcher": {
        "Fetcher": "batch/jobs/fetch.py fetch/fetcher.py",
        "FetcherThread": "fetch/tasks.py fetch/stack.py batch/worker/outcomes.py",
        "QueueFeeder": "fetch/queues/feeder.py",
        "FetchItem": "core/reply.py",
        "FetchItemQueue": "fetch/queues/hostqueue.py",
        "FetchItemQueues": "fetch/queues/workbench.py fetch/queues/scheduler.py",
        "FetcherOutput, FetcherOutputFormat": "batch/worker/segment_part.py store/warc/writer.py",
        "FetcherThreadPublisher": "builtin/publishers.py",
    },
    "parse": {
        "Parse, ParseData, ParseText, ParseResult, Outlink": "core/page.py",
        "ParseSegment": "batch/jobs/parse.py",
        "ParseOutputFormat": "batch/worker/pages.py parse/links.py",
        "ParseUtil, ParserFactory": "parse/content_parser.py parse/chain.py",
        "HtmlParser": "parse/parsers.py parse/html/reader.py",
        "ParserChecker": "cli/parsechecker.py",
    },
    "protocol": {
        "Protocol, ProtocolFactory": "plugins/points.py fetch/protocols/",
        "Content, ProtocolOutput, ProtocolStatus": "core/reply.py core/page.py",
        "HttpBase, HttpResponse": "fetch/protocols/http.py fetch/protocols/http_transport.py",
        "RobotRulesParser, HttpRobotRulesParser": "core/robots.py fetch/robots.py",
    },
    "net, urlfilter, urlnormalizer": {
        "URLFilter, URLFilters": "core/chain.py builtin/filters.py core/filters/",
        "URLNormalizer, URLNormalizers": "core/chain.py builtin/normalizers.py core/normalizers/",
        "URLFilterChecker, URLNormalizerChecker": "cli/checkers.py",
    },
    "scoring": {
        "ScoringFilter, ScoringFilters": "plugins/points.py core/scoring.py",
        "OPICScoringFilter, DepthScoringFilter": "core/scoring.py builtin/scoring.py",
        "WebGraph": "batch/jobs/webgraph.py batch/graph/",
        "LinkRank": "batch/jobs/linkrank.py batch/graph/ranks.py",
        "ScoreUpdater": "batch/jobs/scoreupdater.py",
        "NodeDumper": "batch/jobs/nodedumper.py",
        "NodeReader": "batch/jobs/readwebgraph.py",
    },
    "plugin": {
        "PluginRepository, PluginDescriptor": "plugins/loading.py",
        "ExtensionPoint, Extension": "plugins/points.py",
    },
    "indexer": {
        "IndexingJob, CleaningJob": "batch/jobs/index.py",
        "IndexerMapReduce, IndexingFilters": "index/documents.py",
        "NutchDocument": "core/document.py",
        "IndexWriters": "index/delivery.py index/writers/",
        "IndexingFiltersChecker": "cli/indexchecker.py",
    },
    "segment": {
        "SegmentReader": "batch/jobs/readseg.py",
        "SegmentMerger": "batch/jobs/mergesegs.py",
        "SegmentMergeFilter": "batch/crawldir/merge_filters.py",
    },
    "hostdb": {
        "UpdateHostDb, HostDatum": "batch/jobs/updatehostdb.py batch/hosts/records.py",
        "ReadHostDb": "batch/jobs/readhostdb.py",
    },
    "tools, util, service": {
        "FreeGenerator": "batch/jobs/freegen.py",
        "FileDumper, CommonCrawlDataDumper": "export/dumps.py",
        "WARCExporter": "export/captures.py",
        "SitemapProcessor": "batch/jobs/sitemap.py batch/urls/sitemaps.py",
        "DomainStatistics": "batch/jobs/domainstats.py",
        "ProtocolStatusStatistics": "batch/jobs/protocolstats.py",
        "CrawlCompletionStats": "batch/jobs/crawlcomplete.py",
        "MimeUtil": "parse/mediatype.py",
        "EncodingDetector": "parse/encoding.py",
        "URLUtil": "core/url.py core/domain.py core/representative.py",
        "NutchConfiguration, ShowProperties": "config/ cli/config.py",
        "NutchServer": "batch/api/app.py",
        "webui": "ui/",
    },
    "org.apache.hadoop": {
        "JobClient, InputFormat, MapRunnable, OutputFormat": "engine/port.py engine/duckdb.py engine/spark.py",
        "SequenceFile, MapFile": "store/tables/ nutch/crawl/sequence_file.py",
        "Writable, NutchWritable": "nutch/crawl/writables.py nutch/crawl/records.py",
    },
}
"""The modules for each class, by Nutch's packages."""
