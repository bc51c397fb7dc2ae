"""The live service and its HTTP API: limits, lifetimes and retention."""

from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size

# No `from __future__ import annotations`: the annotations are read at run time.


class LiveSettings(Section, frozen=True):
    """The live service (`scoter serve`)."""

    known_for: Annotated[
        timedelta, Setting("How long a fetched URL is answered from the store instead of being fetched again.")
    ] = timedelta(days=14)
    failed_for: Annotated[timedelta, Setting("How long a URL that could not be fetched is not retried.")] = timedelta(
        hours=1
    )
    in_flight: Annotated[int, Setting("URLs processed concurrently.", at_least=1)] = 1000
    in_flight_per_domain: Annotated[
        int, Setting("URLs of one registered domain and priority processed concurrently.", at_least=1)
    ] = 100
    lease: Annotated[timedelta, Setting("How long a scheduler holds its journal entries without a heartbeat.")] = (
        timedelta(seconds=30)
    )
    delay: Annotated[timedelta, Setting("Delay between two requests to a domain, unless fetch.delay is set.")] = (
        timedelta(seconds=1)
    )
    hops: Annotated[int, Setting("Maximum number of redirects followed.", at_least=0, at_most=20)] = 5
    urls_per_message: Annotated[
        int, Setting("Maximum number of URLs taken from one message.", at_least=1, at_most=1000)
    ] = 20
    backlog: Annotated[
        int, Setting("URLs that may wait in the journal; above that, messages are refused for a while.", at_least=1)
    ] = 1_000_000
    backlog_per_domain: Annotated[
        int, Setting("URLs of one registered domain that may wait; above that, its URLs are refused.", at_least=1)
    ] = 10_000
    fetch_image: Annotated[bool, Setting("Also fetch a page's representative image, for its type and size.")] = False
    processes: Annotated[int, Setting("Worker processes that fetch.", at_least=1, at_most=64)] = 1
    lookups: Annotated[int, Setting("Processes that answer lookups.", at_least=1, at_most=64)] = 1
    shards: Annotated[
        int, Setting("Groups of domains that move between workers together.", at_least=1, at_most=4096)
    ] = 64
    shard_lease: Annotated[
        timedelta, Setting("How long a worker may request from a shard's domains without hearing from the service.")
    ] = timedelta(seconds=2)
    content_for: Annotated[timedelta | None, Setting("How long archived responses are kept.")] = timedelta(days=30)
    content_size: Annotated[
        Size | None, Setting("Maximum size of archived responses; the oldest are deleted first.")
    ] = None
    archive_size: Annotated[Size, Setting("Size at which an archive file is closed.", at_least=2**20)] = Size(
        256 * 2**20
    )
    archive_age: Annotated[timedelta, Setting("Age at which an archive file is closed.")] = timedelta(hours=1)
    log_for: Annotated[timedelta | None, Setting("How long the fetch log is kept.")] = timedelta(days=90)
    messages_for: Annotated[
        timedelta, Setting("How long a finished message is remembered, in case it is sent again.")
    ] = timedelta(days=1)
    events_most: Annotated[int, Setting("Maximum number of events kept.", at_least=1)] = 1_000_000
    patience: Annotated[
        timedelta, Setting("Time after which low-priority URLs get a share even if urgent ones keep coming.")
    ] = timedelta(seconds=60)
    silence: Annotated[
        timedelta | None,
        Setting(
            "How long the core or a lookup process may miss its heartbeat before it is replaced; six times as "
            "long if it is busy."
        ),
    ] = timedelta(seconds=10)
    messages_most: Annotated[
        int, Setting("Maximum number of finished messages remembered; the oldest are forgotten first.", at_least=1)
    ] = 2_000_000
    callbacks_most: Annotated[
        int, Setting("Events that may wait for webhooks; above that, messages with a callback are refused.", at_least=1)
    ] = 100_000
    tries: Annotated[int, Setting("Attempts without a result after which a URL fails.", at_least=1)] = 20
    commit_apart: Annotated[
        timedelta, Setting("Minimum time between two commits; writes in between are committed together.")
    ] = timedelta(milliseconds=5)
    lookup_mapped: Annotated[Size, Setting("Bytes of the database that a lookup process maps into memory.")] = Size(
        256 * 2**20
    )
    about_size: Annotated[
        Size,
        Setting("Maximum size of the page metadata in a record; longer texts and lists are truncated.", at_least=1024),
    ] = Size(32 * 1024)
    host: Annotated[str, Setting("Address the service listens on.")] = "127.0.0.1"
    port: Annotated[int, Setting("Port the service listens on.", at_least=0, at_most=65535)] = 8008
    events_for: Annotated[timedelta, Setting("How long events can be read again.")] = timedelta(days=7)


_MOMENT = timedelta(milliseconds=1)


class WebSettings(Section, frozen=True):
    """Limits of the live service's HTTP API; requests beyond a limit are refused."""

    connections: Annotated[
        int, Setting("Concurrent connections per process, limited by its open files; further ones get 503.", at_least=1)
    ] = 20_000
    streams: Annotated[int, Setting("Concurrent event streams; further ones get 503.", at_least=0)] = 1_000
    waiting: Annotated[
        int, Setting("Lookups that wait for their URL concurrently; further ones get 503.", at_least=0)
    ] = 10_000
    longest_wait: Annotated[
        timedelta, Setting("Maximum time that a lookup waits for its URL.", at_most=timedelta(seconds=30))
    ] = timedelta(seconds=30)
    fetches: Annotated[int, Setting("Concurrent direct fetches for clients; further ones get 503.", at_least=0)] = 64
    fetch_time: Annotated[
        timedelta, Setting("Time limit of a direct fetch with all its redirects; then 504.", at_least=_MOMENT)
    ] = timedelta(seconds=60)
    passed_on: Annotated[
        int, Setting("Concurrent requests from one lookup process to the core; further ones get 503.", at_least=1)
    ] = 5_000
    body_size: Annotated[Size, Setting("Maximum size of a request body; a larger one gets 413.", at_least=1024)] = Size(
        2**20
    )
    body_time: Annotated[timedelta, Setting("Time limit for receiving a request body; then 408.", at_least=_MOMENT)] = (
        timedelta(seconds=10)
    )
    head_size: Annotated[Size, Setting("Maximum size of a request head; a larger one gets 431.", at_least=1024)] = Size(
        32 * 1024
    )
    head_time: Annotated[timedelta, Setting("Time limit for receiving a request head; then 408.", at_least=_MOMENT)] = (
        timedelta(seconds=10)
    )
    stalled: Annotated[
        timedelta, Setting("How long a client may leave a response unread before it is disconnected.", at_least=_MOMENT)
    ] = timedelta(seconds=30)
    kept_alive: Annotated[
        timedelta, Setting("How long an idle connection is kept open.", at_least=timedelta(seconds=1))
    ] = timedelta(seconds=75)
