"""The live service and its HTTP API: limits, lifetimes and retention."""

from datetime import timedelta
from typing import Literal

from scoter.config.settings import Section, setting
from scoter.config.units import Size

# No `from __future__ import annotations`: the annotations are read at run time.


class LiveSettings(Section, frozen=True):
    """The live service (`scoter serve`)."""

    backend: Literal["embedded", "cluster"] = setting(
        "embedded",
        "Where the service keeps its data: in its directory, on one machine, or in Kafka and Cassandra.",
    )
    robots_server: str = setting(
        "",
        "Redis server through which the workers of a cluster share robots.txt files; empty to use Cassandra.",
        pattern=r"(rediss?://\S+)?",
        form="redis://host:port/number",
        example='"redis://cache:6379/0"',
    )
    known_for: timedelta = setting(
        timedelta(days=14), "How long a fetched URL is answered from the store instead of being fetched again."
    )
    failed_for: timedelta = setting(timedelta(hours=1), "How long a URL that could not be fetched is not retried.")
    stale_for: timedelta = setting(
        timedelta(days=7),
        "How long after its expiry a record is still shown, marked as stale, if the URL cannot be fetched again.",
    )
    retries: int = setting(
        2,
        "Retries of a request that was answered 429 or 503, reset or timed out, before its URL fails.",
        at_least=0,
        at_most=10,
    )
    retry_delays: tuple[timedelta, ...] = setting(
        (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(hours=1)),
        "When a URL that still fails so is fetched again: the times from each failure to the next try, or Retry-After "
        "if that is longer; after the last one, `failed_for` applies.",
    )
    retries_most: int = setting(100_000, "URLs that may wait for such a try.", at_least=0)
    in_flight: int = setting(1000, "URLs processed concurrently.", at_least=1)
    in_flight_per_domain: int = setting(
        100, "URLs of one registered domain and priority processed concurrently.", at_least=1
    )
    lease: timedelta = setting(
        timedelta(seconds=30), "How long a scheduler holds its journal entries without a heartbeat."
    )
    delay: timedelta = setting(
        timedelta(seconds=1),
        "Delay between two requests to a domain; if only fetch.delay is set, that one applies.",
        follows="fetch.delay",
    )
    hops: int = setting(5, "Maximum number of redirects followed.", at_least=0, at_most=20)
    urls_per_message: int = setting(20, "Maximum number of URLs taken from one message.", at_least=1, at_most=1000)
    backlog: int = setting(
        1_000_000, "URLs that may wait in the journal; above that, messages are refused for a while.", at_least=1
    )
    backlog_per_domain: int = setting(
        10_000, "URLs of one registered domain that may wait; above that, its URLs are refused.", at_least=1
    )
    backlog_per_tenant: int = setting(
        1_000_000, "URLs of one tenant that may wait; above that, its messages are refused for a while.", at_least=1
    )
    fetch_image: bool = setting(
        False,
        "Also fetch and archive the whole preview image of a page, for its type and size; the record waits for it.",
    )
    image_rate: int = setting(
        20,
        "Maximum number of requests per second for the first bytes of preview images whose size their pages do not "
        "state; 0 for none.",
        at_least=0,
        at_most=1000,
    )
    image_wait: timedelta = setting(
        timedelta(seconds=2),
        "How long a record waits for the first bytes of its preview image.",
        at_least=timedelta(milliseconds=10),
        at_most=timedelta(seconds=30),
    )
    processes: int = setting(
        1,
        "Workers: the processes that fetch; with --role pipeline, those of the pipeline.",
        at_least=1,
        at_most=64,
    )
    parsers: int = setting(
        3, "Processes that parse pages which may take long; started when needed.", at_least=1, at_most=64
    )
    parse_cpu: timedelta = setting(
        timedelta(seconds=2),
        "CPU time for parsing one page in such a process; a page that needs more is recorded without metadata.",
        at_least=timedelta(milliseconds=100),
    )
    lookups: int = setting(1, "Processes that answer lookups.", at_least=1, at_most=64)
    shards: int = setting(64, "Groups of domains that move between workers together.", at_least=1, at_most=4096)
    shard_lease: timedelta = setting(
        timedelta(seconds=2), "How long a worker may request from a shard's domains without hearing from the service."
    )
    content_limit: Size = setting(
        Size(2**20),
        "Maximum size of a body, in place of fetch.content_limit; what was received of a longer one is parsed.",
        at_least=1024,
        at_most=32 * 2**20,
    )
    content_for: timedelta | None = setting(timedelta(days=30), "How long archived responses are kept.")
    content_size: Size | None = setting(None, "Maximum size of archived responses; the oldest are deleted first.")
    archive_size: Size = setting(Size(256 * 2**20), "Size at which an archive file is closed.", at_least=2**20)
    archive_age: timedelta = setting(timedelta(hours=1), "Age at which an archive file is closed.")
    log_for: timedelta | None = setting(timedelta(days=90), "How long the fetch log is kept.")
    messages_for: timedelta = setting(
        timedelta(days=1), "How long a finished message is remembered, in case it is sent again."
    )
    events_most: int = setting(1_000_000, "Maximum number of events kept.", at_least=1)
    patience: timedelta = setting(
        timedelta(seconds=60), "Time after which low-priority URLs get a share even if urgent ones keep coming."
    )
    silence: timedelta | None = setting(
        timedelta(seconds=10),
        "How long the core or a lookup process may miss its heartbeat before it is replaced; six times as "
        "long if it is busy.",
    )
    messages_most: int = setting(
        2_000_000, "Maximum number of finished messages remembered; the oldest are forgotten first.", at_least=1
    )
    callbacks_most: int = setting(
        100_000, "Events that may wait for webhooks; above that, messages with a callback are refused.", at_least=1
    )
    callbacks_per_tenant: int = setting(
        100_000,
        "Events of one tenant that may wait for webhooks; above that, its messages with a callback are refused.",
        at_least=1,
    )
    tries: int = setting(20, "Attempts without a result after which a URL fails.", at_least=1)
    commit_apart: timedelta = setting(
        timedelta(milliseconds=5), "Minimum time between two commits; writes in between are committed together."
    )
    lookup_mapped: Size = setting(Size(256 * 2**20), "Bytes of the database that a lookup process maps into memory.")
    about_size: Size = setting(
        Size(32 * 1024),
        "Maximum size of the page metadata in a record; longer texts and lists are truncated.",
        at_least=1024,
    )
    host: str = setting("127.0.0.1", "Address the service listens on.")
    port: int = setting(8008, "Port the service listens on.", at_least=0, at_most=65535)
    events_for: timedelta = setting(timedelta(days=7), "How long events can be read again.")


_MOMENT = timedelta(milliseconds=1)


class WebSettings(Section, frozen=True):
    """Limits of the HTTP APIs, whose requests beyond a limit are refused, and the log of servers."""

    cors_origins: tuple[str, ...] = setting(
        (),
        "Origins of web pages that may use the API from a browser; * for all.",
        pattern=r"\*|https?://[^/\s?#]+",
        form="an origin such as https://example.org, or *",
        example='["https://example.org"]',
    )
    log_format: Literal["text", "json"] = setting(
        "text", "The log on standard error: lines of text, or a JSON object per line."
    )
    connections: int = setting(
        20_000, "Concurrent connections per process, limited by its open files; further ones get 503.", at_least=1
    )
    streams: int = setting(1_000, "Concurrent event streams; further ones get 503.", at_least=0)
    waiting: int = setting(10_000, "Lookups that wait for their URL concurrently; further ones get 503.", at_least=0)
    longest_wait: timedelta = setting(
        timedelta(seconds=30), "Maximum time that a lookup waits for its URL.", at_most=timedelta(seconds=30)
    )
    share: float = setting(
        0.5,
        "The part of a limit (event streams, waiting lookups, direct fetches; queries and jobs of `scoter ui`) that "
        "one key, or one address without a key, may use; requests beyond it get 429.",
        at_least=0.01,
        at_most=1.0,
    )
    fetches: int = setting(64, "Concurrent direct fetches for clients; further ones get 503.", at_least=0)
    fetch_time: timedelta = setting(
        timedelta(seconds=60), "Time limit of a direct fetch with all its redirects; then 504.", at_least=_MOMENT
    )
    passed_on: int = setting(
        5_000, "Concurrent requests from one lookup process to the core; further ones get 503.", at_least=1
    )
    body_size: Size = setting(Size(2**20), "Maximum size of a request body; a larger one gets 413.", at_least=1024)
    body_time: timedelta = setting(
        timedelta(seconds=10), "Time limit for receiving a request body; then 408.", at_least=_MOMENT
    )
    head_size: Size = setting(Size(32 * 1024), "Maximum size of a request head; a larger one gets 431.", at_least=1024)
    head_time: timedelta = setting(
        timedelta(seconds=10), "Time limit for receiving a request head; then 408.", at_least=_MOMENT
    )
    stalled: timedelta = setting(
        timedelta(seconds=30),
        "How long a client may leave a response unread before it is disconnected.",
        at_least=_MOMENT,
    )
    kept_alive: timedelta = setting(
        timedelta(seconds=75), "How long an idle connection is kept open.", at_least=timedelta(seconds=1)
    )
