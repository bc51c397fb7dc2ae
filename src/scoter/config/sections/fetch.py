"""The fetcher: queues, delays, limits, redirects and allowed addresses."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from typing import Annotated, Literal

from scoter.config.settings import Section, Setting
from scoter.config.units import Network, PortRange, Size

# A host name or pattern, then a port; an address (IPv6 in brackets), then a port.
_CONNECT_TO = r"[^\s:=\[\]]+:(?:\*|[0-9]{1,5})=(?:\[[0-9A-Fa-f:.]+\]|[^\s:=\[\]]+):[0-9]{1,5}"

# A host, then one or more changes to its policy; their names and values are looked at in scoter.fetch.policy.
_HOST_POLICY = r"\s*[^\s=]+(?:\s+[a-z_]+=[^\s=]+)+\s*"


class FetchSettings(Section, frozen=True):
    """The polite fetch core: queues, delays, limits, redirects and the address guard."""

    protocols: Annotated[tuple[str, ...], Setting("Active protocol plug-ins.", example='["http", "file"]')] = ("http",)

    # Politeness
    delay: Annotated[
        timedelta,
        Setting(
            "Delay between two requests to a queue with one thread; a Crawl-delay in robots.txt overrides it.",
            nutch=("fetcher.server.delay",),
        ),
    ] = timedelta(seconds=5)
    min_delay: Annotated[
        timedelta,
        Setting(
            "Delay between two requests to a queue with more than one thread.", nutch=("fetcher.server.min.delay",)
        ),
    ] = timedelta(0)
    max_crawl_delay: Annotated[
        timedelta | None,
        Setting(
            "Longest accepted Crawl-delay; pages of hosts that ask for more are skipped, unless this is off.",
            nutch=("fetcher.max.crawl.delay",),
        ),
    ] = timedelta(seconds=30)
    min_crawl_delay: Annotated[
        timedelta,
        Setting(
            "Shortest delay, even if robots.txt has a shorter Crawl-delay.",
            nutch=("fetcher.min.crawl.delay",),
            follows="fetch.delay",
        ),
    ] = timedelta(seconds=5)
    adaptive_delay: Annotated[
        bool,
        Setting("Increase the delay of a host that responds more slowly; it never becomes shorter than configured."),
    ] = True
    queue_mode: Annotated[
        Literal["host", "domain", "ip"],
        Setting(
            "What shares a queue, and so a delay: a host, a registered domain or an IP address.",
            nutch=("fetcher.queue.mode",),
        ),
    ] = "host"
    threads: Annotated[
        int,
        Setting(
            "Concurrent requests, over all processes.",
            nutch=("fetcher.threads.fetch",),
            at_least=1,
            at_most=10_000,
            departs="a request needs no thread here, and Nutch's own crawl script uses 50",
        ),
    ] = 50
    threads_per_queue: Annotated[
        int,
        Setting(
            "Concurrent requests in one queue; above 1, fetch.min_delay applies instead of fetch.delay.",
            nutch=("fetcher.threads.per.queue", "fetcher.threads.per.host"),
            at_least=1,
            at_most=1_000,
        ),
    ] = 1
    hosts: Annotated[
        tuple[str, ...],
        Setting(
            "Hosts, including their subdomains, with their own delay, min_delay, threads or max_exceptions.",
            pattern=_HOST_POLICY,
            form="a host and its settings",
            example='["example.org delay=10s threads=2"]',
        ),
    ] = ()
    processes: Annotated[
        int | None,
        Setting("Worker processes of a fetch; auto means one per core.", at_least=1, at_most=1_024, none="auto"),
    ] = None

    # Queues
    queue_depth_multiplier: Annotated[
        int,
        Setting(
            "URLs kept in memory per thread before the feeder waits.",
            nutch=("fetcher.queue.depth.multiplier",),
            at_least=1,
            at_most=100_000,
        ),
    ] = 50
    queue_buffer: Annotated[
        Size, Setting("Memory for queued URLs; a host that exceeds its share spills to disk.", at_least=2**16)
    ] = Size(8 * 2**20)
    max_exceptions_per_queue: Annotated[
        int | None,
        Setting(
            "Failures after which a queue is emptied and takes no more URLs in this run.",
            nutch=("fetcher.max.exceptions.per.queue",),
            at_least=0,
        ),
    ] = 5
    exceptions_per_queue_delay: Annotated[
        timedelta,
        Setting(
            "Extra delay after a failure, doubled with each further one; 0 means none.",
            nutch=("fetcher.exceptions.per.queue.delay",),
            follows="fetch.delay",
        ),
    ] = timedelta(seconds=5)
    exceptions_per_queue_clear_after: Annotated[
        timedelta,
        Setting(
            "Idle time after which the failures of an empty queue are forgotten.",
            nutch=("fetcher.exceptions.per.queue.clear.after",),
        ),
    ] = timedelta(minutes=30)
    retry_budget: Annotated[
        float,
        Setting(
            "Retries as a share of all requests of a process, so that an outage does not cause a storm of retries.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.2

    # Time and throughput
    time_limit: Annotated[
        timedelta | None,
        Setting(
            "Wall-clock time limit of a fetch; URLs still queued then are dropped and counted.",
            nutch=("fetcher.timelimit.mins",),
            nutch_unit="min",
        ),
    ] = None
    hung_after: Annotated[
        timedelta, Setting("Time without a new request after which a fetch counts as hung and is stopped cleanly.")
    ] = timedelta(minutes=5)
    throughput_threshold_pages: Annotated[
        float | None,
        Setting(
            "Pages per second below which a fetch is stopped.",
            nutch=("fetcher.throughput.threshold.pages",),
            at_least=0,
        ),
    ] = None
    throughput_threshold_retries: Annotated[
        int,
        Setting(
            "Seconds below the throughput threshold before the fetch is stopped.",
            nutch=("fetcher.throughput.threshold.retries",),
            at_least=0,
        ),
    ] = 5
    throughput_threshold_check_after: Annotated[
        timedelta,
        Setting(
            "Time from the start of a fetch until its throughput is checked.",
            nutch=("fetcher.throughput.threshold.check.after",),
            nutch_unit="min",
        ),
    ] = timedelta(minutes=5)
    bandwidth_target: Annotated[
        Size | None,
        Setting(
            "Target bandwidth in bytes per second; threads are added and removed to match it.",
            nutch=("fetcher.bandwidth.target",),
            nutch_unit="kbit/s",
            at_least=1,
        ),
    ] = None
    bandwidth_target_check_every: Annotated[
        timedelta,
        Setting(
            "How often the number of threads is adjusted to the bandwidth target.",
            nutch=("fetcher.bandwidth.target.check.everyNSecs",),
            at_least=timedelta(seconds=1),
        ),
    ] = timedelta(seconds=30)
    max_num_threads: Annotated[
        int,
        Setting(
            "Maximum number of threads for the bandwidth target.",
            nutch=("fetcher.maxNum.threads",),
            at_least=1,
            at_most=10_000,
            departs="2.5 times fetch.threads, as in Nutch",
        ),
    ] = 125

    # Content
    content_limit: Annotated[
        Size | None,
        Setting("Maximum size of a body; a longer one is truncated and marked as such.", nutch=("http.content.limit",)),
    ] = Size(2**20)
    body_budget: Annotated[
        Size, Setting("Body bytes in memory per process; transfers pause above it.", at_least=2**20)
    ] = Size(64 * 2**20)
    store_content: Annotated[bool, Setting("Store raw responses in the segment.", nutch=("fetcher.store.content",))] = (
        True
    )
    store_robotstxt: Annotated[
        bool, Setting("Archive robots.txt responses as well.", nutch=("fetcher.store.robotstxt",))
    ] = False
    parse: Annotated[bool, Setting("Parse pages as they are fetched.", nutch=("fetcher.parse",))] = False
    signature: Annotated[
        bool, Setting("Compute the signature of raw content if the fetch does not parse.", nutch=("fetcher.signature",))
    ] = False

    # Which URLs
    filter_urls: Annotated[
        bool, Setting("Apply the URL filters to the fetch list again.", nutch=("fetcher.filter.urls",))
    ] = False
    normalize_urls: Annotated[
        bool, Setting("Apply the URL normalisers to the fetch list again.", nutch=("fetcher.normalize.urls",))
    ] = False
    redirect_max: Annotated[
        int,
        Setting(
            "Redirects followed immediately; with 0 the target is recorded for a later round.",
            nutch=("http.redirect.max",),
            at_least=0,
            at_most=100,
        ),
    ] = 0
    redirect_max_exceeded_skip: Annotated[
        bool,
        Setting(
            "Drop the last target of a redirect chain that is too long instead of recording it.",
            nutch=("http.redirect.max.exceeded.skip",),
        ),
    ] = False
    redirect_dedupcache_age: Annotated[
        timedelta | None,
        Setting(
            "How long a redirect target is remembered, so that it is not followed twice; off means until the "
            "fetch ends.",
            nutch=("fetcher.redirect.dedupcache.seconds",),
        ),
    ] = None
    redirect_dedupcache_size: Annotated[
        int,
        Setting(
            "Maximum number of remembered redirect targets.",
            nutch=("fetcher.redirect.dedupcache.size",),
            at_least=1,
            at_most=10_000_000,
        ),
    ] = 1_000
    follow_outlinks_depth: Annotated[
        int | None,
        Setting(
            "Depth to which links are followed within one fetch; requires fetch.parse.",
            nutch=("fetcher.follow.outlinks.depth",),
            at_least=1,
            at_most=1_000,
        ),
    ] = None
    follow_outlinks_num_links: Annotated[
        int,
        Setting(
            "Links followed per page within one fetch.",
            nutch=("fetcher.follow.outlinks.num.links",),
            at_least=1,
            at_most=10_000,
        ),
    ] = 4
    follow_outlinks_ignore_external: Annotated[
        bool,
        Setting(
            "Stay on the page's own host when following links within one fetch.",
            nutch=("fetcher.follow.outlinks.ignore.external",),
        ),
    ] = True

    # Addresses
    allow_networks: Annotated[
        tuple[Network, ...],
        Setting(
            "Private networks that may be fetched from, although the address guard would refuse them.",
            example='["127.0.0.0/8"]',
        ),
    ] = ()
    allow_ports: Annotated[
        tuple[PortRange, ...], Setting("Ports, or ranges of ports, that URLs may have.", example='[80, "8000-8999"]')
    ] = (PortRange(80, 80), PortRange(443, 443), PortRange(8080, 8080), PortRange(8443, 8443))
    connect_to: Annotated[
        tuple[str, ...],
        Setting(
            "Addresses to connect to instead, as name:port=address:port, with * for any name; not applied to"
            " IP addresses in URLs.",
            pattern=_CONNECT_TO,
            form="name:port=address:port",
            example='["*:80=127.0.0.1:8080"]',
        ),
    ] = ()
