"""The fetcher: queues, delays, limits, redirects and allowed addresses."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from typing import Literal

from scoter.config.settings import Section, setting
from scoter.config.units import Network, PortRange, Size

# A host name or pattern, then a port; an address (IPv6 in brackets), then a port.
_CONNECT_TO = r"[^\s:=\[\]]+:(?:\*|[0-9]{1,5})=(?:\[[0-9A-Fa-f:.]+\]|[^\s:=\[\]]+):[0-9]{1,5}"

_HOST_AND_PORT = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/*]+):[0-9]{1,5}"

# A host, then one or more changes to its policy; their names and values are looked at in scoter.fetch.queues.policy.
_HOST_POLICY = r"\s*[^\s=]+(?:\s+[a-z_]+=[^\s=]+)+\s*"


class FetchSettings(Section, frozen=True):
    """The polite fetch core: queues, delays, limits, redirects and the address guard."""

    protocols: tuple[str, ...] = setting(("http",), "Active protocol plug-ins.", example='["http", "file"]')

    # Politeness
    delay: timedelta = setting(
        timedelta(seconds=5),
        "Delay between two requests to a queue with one thread; a Crawl-delay in robots.txt overrides it.",
        nutch=("fetcher.server.delay",),
    )
    min_delay: timedelta = setting(
        timedelta(0),
        "Delay between two requests to a queue with more than one thread.",
        nutch=("fetcher.server.min.delay",),
    )
    max_crawl_delay: timedelta | None = setting(
        timedelta(seconds=30),
        "Longest usual Crawl-delay, if not off; fetch.long_crawl_delay says what to do with hosts that ask for more.",
        nutch=("fetcher.max.crawl.delay",),
    )
    long_crawl_delay: Literal["wait", "cap", "skip"] = setting(
        "wait",
        "What to do with hosts whose Crawl-delay is longer than fetch.max_crawl_delay: keep it, and leave due the URLs "
        "for which a round has no time (wait), keep fetch.max_crawl_delay instead (cap), or fetch nothing (skip, as "
        "Nutch does).",
    )
    min_crawl_delay: timedelta = setting(
        timedelta(seconds=5),
        "Shortest delay, even if robots.txt has a shorter Crawl-delay.",
        nutch=("fetcher.min.crawl.delay",),
        follows="fetch.delay",
    )
    adaptive_delay: bool = setting(
        True, "Increase the delay of a host that responds more slowly; it never becomes shorter than configured."
    )
    queue_mode: Literal["host", "domain", "ip"] = setting(
        "host",
        "What shares a queue, and so a delay: a host, a registered domain or an IP address.",
        nutch=("fetcher.queue.mode",),
    )
    threads: int = setting(
        50,
        "Concurrent requests, over all processes.",
        nutch=("fetcher.threads.fetch",),
        at_least=1,
        at_most=10_000,
        departs="a request needs no thread here, and Nutch's own crawl script uses 50",
    )
    threads_per_queue: int = setting(
        1,
        "Concurrent requests in one queue; above 1, fetch.min_delay applies instead of fetch.delay.",
        nutch=("fetcher.threads.per.queue", "fetcher.threads.per.host"),
        at_least=1,
        at_most=1_000,
    )
    hosts: tuple[str, ...] = setting(
        (),
        "Hosts, including their subdomains, with their own delay, min_delay, threads or max_exceptions.",
        pattern=_HOST_POLICY,
        form="a host and its settings",
        example='["example.org delay=10s threads=2"]',
    )
    own_hosts: tuple[str, ...] = setting(
        (),
        "Hosts of one's own, without their subdomains: several connections with short delays, all links of a page"
        " are followed, and nothing is held back as a trap; robots.txt is obeyed as everywhere;"
        " `scoter crawl --own-site` adds the seeds' hosts.",
        pattern=r"\s*[^\s=]+\s*",
        form="a host",
        example='["www.example.org"]',
    )
    processes: int | None = setting(
        None,
        "Worker processes of a fetch, each with a fetch list; auto means one per core of this machine.",
        at_least=1,
        at_most=10_000,
        none="auto",
    )
    where: Literal["here", "cluster"] = setting(
        "here",
        "Where to fetch: here, or on the executors of engine.spark_master, each fetch list as a task; limits such as "
        "fetch.threads then hold for each list.",
    )
    lease: timedelta = setting(
        timedelta(seconds=30),
        "How long an executor may fetch without reaching the driver.",
        at_least=timedelta(seconds=2),
        at_most=timedelta(hours=1),
    )
    lease_grace: timedelta = setting(
        timedelta(seconds=30),
        "How long nobody contacts the hosts of a fetch list after the lease of a lost executor has ended; not less "
        "than the longest delay of a host.",
        at_least=timedelta(0),
        at_most=timedelta(hours=1),
    )
    driver_port: int = setting(
        0, "Port at which the driver listens for its executors; 0 means any.", at_least=0, at_most=65_535
    )

    # Queues
    queue_depth_multiplier: int = setting(
        50,
        "URLs kept in memory per thread before the feeder waits.",
        nutch=("fetcher.queue.depth.multiplier",),
        at_least=1,
        at_most=100_000,
    )
    queue_buffer: Size = setting(
        Size(8 * 2**20), "Memory for queued URLs; a host that exceeds its share spills to disk.", at_least=2**16
    )
    max_exceptions_per_queue: int | None = setting(
        5,
        "Failures after which a queue is emptied and takes no more URLs in this run.",
        nutch=("fetcher.max.exceptions.per.queue",),
        at_least=0,
    )
    exceptions_per_queue_delay: timedelta = setting(
        timedelta(seconds=5),
        "Extra delay after a failure, doubled with each further one; 0 means none.",
        nutch=("fetcher.exceptions.per.queue.delay",),
        follows="fetch.delay",
    )
    exceptions_per_queue_clear_after: timedelta = setting(
        timedelta(minutes=30),
        "Idle time after which the failures of an empty queue are forgotten.",
        nutch=("fetcher.exceptions.per.queue.clear.after",),
    )
    retry_budget: float = setting(
        0.2,
        "Retries as a share of all requests of a process, so that an outage does not cause a storm of retries.",
        at_least=0,
        at_most=1,
    )

    # Time and throughput
    time_limit: timedelta | None = setting(
        None,
        "Wall-clock time limit of a fetch; URLs still queued then are dropped and counted.",
        nutch=("fetcher.timelimit.mins",),
        nutch_unit="min",
    )
    hung_after: timedelta = setting(
        timedelta(minutes=5), "Time without a new request after which a fetch counts as hung and is stopped cleanly."
    )
    max_hold: timedelta = setting(
        timedelta(minutes=1),
        "How long a fetch waits for a host on hold (Retry-After, back-off, robots.txt that answers 5xx); if only hosts"
        " with longer holds are left, they are deferred to a later fetch.",
    )
    leave_slow_hosts: bool = setting(
        True,
        "In `scoter crawl`, end a round when a tenth of its hosts take much longer than all others, and leave their"
        " URLs to the next round.",
    )
    throughput_threshold_pages: float | None = setting(
        None,
        "Pages per second below which a fetch is stopped.",
        nutch=("fetcher.throughput.threshold.pages",),
        at_least=0,
    )
    throughput_threshold_retries: int = setting(
        5,
        "Seconds below the throughput threshold before the fetch is stopped.",
        nutch=("fetcher.throughput.threshold.retries",),
        at_least=0,
    )
    throughput_threshold_check_after: timedelta = setting(
        timedelta(minutes=5),
        "Time from the start of a fetch until its throughput is checked.",
        nutch=("fetcher.throughput.threshold.check.after",),
        nutch_unit="min",
    )
    bandwidth_target: Size | None = setting(
        None,
        "Target bandwidth in bytes per second; threads are added and removed to match it.",
        nutch=("fetcher.bandwidth.target",),
        nutch_unit="kbit/s",
        at_least=1,
    )
    bandwidth_target_check_every: timedelta = setting(
        timedelta(seconds=30),
        "How often the number of threads is adjusted to the bandwidth target.",
        nutch=("fetcher.bandwidth.target.check.everyNSecs",),
        at_least=timedelta(seconds=1),
    )
    max_num_threads: int = setting(
        125,
        "Maximum number of threads for the bandwidth target.",
        nutch=("fetcher.maxNum.threads",),
        at_least=1,
        at_most=10_000,
        departs="2.5 times fetch.threads, as in Nutch",
    )

    # Content
    content_limit: Size | None = setting(
        Size(2**20),
        "Maximum size of a body; a longer one is truncated and marked as such.",
        nutch=("http.content.limit",),
    )
    body_budget: Size = setting(
        Size(64 * 2**20), "Body bytes in memory per process; transfers pause above it.", at_least=2**20
    )
    store_content: bool = setting(True, "Store raw responses in the segment.", nutch=("fetcher.store.content",))
    store_robotstxt: bool = setting(False, "Archive robots.txt responses as well.", nutch=("fetcher.store.robotstxt",))
    parse: bool = setting(False, "Parse pages as they are fetched.", nutch=("fetcher.parse",))
    signature: bool = setting(
        False, "Compute the signature of raw content if the fetch does not parse.", nutch=("fetcher.signature",)
    )

    # Which URLs
    filter_urls: bool = setting(False, "Apply the URL filters to the fetch list again.", nutch=("fetcher.filter.urls",))
    normalize_urls: bool = setting(
        False, "Apply the URL normalisers to the fetch list again.", nutch=("fetcher.normalize.urls",)
    )
    redirect_max: int = setting(
        0,
        "Redirects followed immediately; with 0 the target is recorded for a later round.",
        nutch=("http.redirect.max",),
        at_least=0,
        at_most=100,
    )
    redirect_max_exceeded_skip: bool = setting(
        False,
        "Drop the last target of a redirect chain that is too long instead of recording it.",
        nutch=("http.redirect.max.exceeded.skip",),
    )
    redirect_dedupcache_age: timedelta | None = setting(
        None,
        "How long a redirect target is remembered, so that it is not followed twice; off means until the fetch ends.",
        nutch=("fetcher.redirect.dedupcache.seconds",),
    )
    redirect_dedupcache_size: int = setting(
        1_000,
        "Maximum number of remembered redirect targets.",
        nutch=("fetcher.redirect.dedupcache.size",),
        at_least=1,
        at_most=10_000_000,
    )
    follow_outlinks_depth: int | None = setting(
        None,
        "Depth to which links are followed within one fetch; requires fetch.parse.",
        nutch=("fetcher.follow.outlinks.depth",),
        at_least=1,
        at_most=1_000,
    )
    follow_outlinks_num_links: int = setting(
        4,
        "Links followed per page within one fetch.",
        nutch=("fetcher.follow.outlinks.num.links",),
        at_least=1,
        at_most=10_000,
    )
    follow_outlinks_ignore_external: bool = setting(
        True,
        "Stay on the page's own host when following links within one fetch.",
        nutch=("fetcher.follow.outlinks.ignore.external",),
    )

    # Addresses
    allow_networks: tuple[Network, ...] = setting(
        (),
        "Private networks that may be fetched from, although the address guard would refuse them.",
        example='["127.0.0.0/8"]',
    )
    allow_ports: tuple[PortRange, ...] = setting(
        (PortRange(80, 80), PortRange(443, 443), PortRange(8080, 8080), PortRange(8443, 8443)),
        "Ports, or ranges of ports, that URLs may have.",
        example='[80, "8000-8999"]',
    )
    allow_hosts: tuple[str, ...] = setting(
        (),
        "Hosts, each with a port, that may be fetched from although the address guard would refuse the port, or the"
        " address of localhost, of an IP address or of a name outside the public DNS; `scoter crawl` adds the seeds"
        " typed on its command line.",
        pattern=_HOST_AND_PORT,
        form="host:port",
        example='["localhost:8000"]',
    )
    connect_to: tuple[str, ...] = setting(
        (),
        "Addresses to connect to instead, as name:port=address:port, with * for any name; not applied to"
        " IP addresses in URLs.",
        pattern=_CONNECT_TO,
        form="name:port=address:port",
        example='["*:80=127.0.0.1:8080"]',
    )
