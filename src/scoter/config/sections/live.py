"""The live service: what it takes in, how long it believes what it knows, and what it keeps."""

from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.


class LiveSettings(Section, frozen=True):
    """The live service (`scoter serve`)."""

    known_for: Annotated[
        timedelta, Setting("How long a URL that was fetched is answered from the store and not fetched again.")
    ] = timedelta(days=14)
    failed_for: Annotated[timedelta, Setting("How long a URL that could not be fetched is not tried again.")] = (
        timedelta(hours=1)
    )
    in_flight: Annotated[int, Setting("URLs that are worked on at the same time.", at_least=1)] = 1000
    in_flight_per_domain: Annotated[
        int,
        Setting("URLs of one registered domain and priority that are worked on at the same time.", at_least=1),
    ] = 100
    lease: Annotated[
        timedelta,
        Setting("How long a scheduler holds what it took from the journal without a sign of life."),
    ] = timedelta(seconds=30)
    delay: Annotated[
        timedelta,
        Setting("Pause between two requests to a domain, as long as fetch.delay is left as it is: somebody waits."),
    ] = timedelta(seconds=1)
    hops: Annotated[int, Setting("Redirects that are followed.", at_least=0, at_most=20)] = 5
    urls_per_message: Annotated[int, Setting("URLs that are taken of one message.", at_least=1, at_most=1000)] = 20
    backlog: Annotated[
        int, Setting("URLs that may wait in the journal; beyond that messages are refused for a while.", at_least=1)
    ] = 1_000_000
    backlog_per_domain: Annotated[
        int, Setting("URLs of one registered domain that may wait; beyond that its URLs are refused.", at_least=1)
    ] = 10_000
    fetch_image: Annotated[bool, Setting("Fetch a page's representative image, too, for its type and size.")] = False
    processes: Annotated[int, Setting("Fetching processes.", at_least=1, at_most=64)] = 1
    lookups: Annotated[int, Setting("Processes that answer lookups.", at_least=1, at_most=64)] = 1
    shards: Annotated[
        int, Setting("Groups of domains that move between fetching processes as one.", at_least=1, at_most=4096)
    ] = 64
    shard_lease: Annotated[
        timedelta, Setting("How long a fetching process may ask a shard's domains without hearing from the service.")
    ] = timedelta(seconds=2)
    content_for: Annotated[timedelta | None, Setting("How long archived answers are kept.")] = timedelta(days=30)
    content_size: Annotated[Size | None, Setting("Most bytes of archived answers; the oldest go first.")] = None
    archive_size: Annotated[Size, Setting("Size at which a file of archived answers is finished.", at_least=2**20)] = (
        Size(256 * 2**20)
    )
    archive_age: Annotated[timedelta, Setting("Age at which a file of archived answers is finished.")] = timedelta(
        hours=1
    )
    log_for: Annotated[timedelta | None, Setting("How long the log of fetches is kept.")] = timedelta(days=90)
    messages_for: Annotated[
        timedelta, Setting("How long a message that is done is known, should it be sent once more.")
    ] = timedelta(days=1)
    events_most: Annotated[int, Setting("Announcements that are kept at most.", at_least=1)] = 1_000_000
    patience: Annotated[
        timedelta, Setting("After how long what is not urgent gets a share even if urgent URLs keep coming.")
    ] = timedelta(seconds=60)
    silence: Annotated[
        timedelta | None,
        Setting(
            "How long the core or a lookup process may give no sign of life before it is replaced; "
            "one that is busy, six times as long."
        ),
    ] = timedelta(seconds=10)
    messages_most: Annotated[
        int,
        Setting("Messages that are known at most after they are done; of more the oldest are forgotten.", at_least=1),
    ] = 2_000_000
    callbacks_most: Annotated[
        int,
        Setting(
            "Announcements that may wait for their callbacks; beyond that messages with a callback are refused.",
            at_least=1,
        ),
    ] = 100_000
    tries: Annotated[
        int, Setting("How often a URL is taken up without an outcome before it ends as failed.", at_least=1)
    ] = 20
    commit_apart: Annotated[
        timedelta, Setting("Least time between two commits; what comes meanwhile is committed together.")
    ] = timedelta(milliseconds=5)
    lookup_mapped: Annotated[Size, Setting("Bytes of the database that a lookup process maps into its memory.")] = Size(
        256 * 2**20
    )
    about_size: Annotated[
        Size,
        Setting(
            "Most bytes that what a page says about itself takes in its record; longer texts and lists are cut.",
            at_least=1024,
        ),
    ] = Size(32 * 1024)
    host: Annotated[str, Setting("Address that the service listens on.")] = "127.0.0.1"
    port: Annotated[int, Setting("Port that the service listens on.", at_least=0, at_most=65535)] = 8008
    events_for: Annotated[timedelta, Setting("How long announcements can be read again.")] = timedelta(days=7)


# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.


_MOMENT = timedelta(milliseconds=1)


class WebSettings(Section, frozen=True):
    """The HTTP API of the live service. What is beyond a limit is refused politely; the service goes on."""

    connections: Annotated[
        int,
        Setting(
            "Connections that a process answers at the same time, as far as its limit of open files goes; the rest"
            " are answered 503.",
            at_least=1,
        ),
    ] = 20_000
    streams: Annotated[int, Setting("Streams of events at the same time; beyond that 503.", at_least=0)] = 1_000
    waiting: Annotated[
        int, Setting("Lookups that wait for their URL at the same time; beyond that 503.", at_least=0)
    ] = 10_000
    longest_wait: Annotated[
        timedelta, Setting("How long a lookup waits for its URL at most.", at_most=timedelta(seconds=30))
    ] = timedelta(seconds=30)
    fetches: Annotated[int, Setting("Direct fetches for clients at the same time; beyond that 503.", at_least=0)] = 64
    fetch_time: Annotated[
        timedelta, Setting("How long a direct fetch may take with all its hops; then 504.", at_least=_MOMENT)
    ] = timedelta(seconds=60)
    passed_on: Annotated[
        int,
        Setting("Requests that one lookup process has under way at the core; beyond that 503.", at_least=1),
    ] = 5_000
    body_size: Annotated[Size, Setting("Largest body that is taken; beyond that 413.", at_least=1024)] = Size(2**20)
    body_time: Annotated[timedelta, Setting("How long a body may take to come; then 408.", at_least=_MOMENT)] = (
        timedelta(seconds=10)
    )
    head_size: Annotated[Size, Setting("Largest head of a request; beyond that 431.", at_least=1024)] = Size(32 * 1024)
    head_time: Annotated[timedelta, Setting("How long a head may take to come; then 408.", at_least=_MOMENT)] = (
        timedelta(seconds=10)
    )
    stalled: Annotated[
        timedelta, Setting("How long a client may leave what it was sent unread; then it is cut off.", at_least=_MOMENT)
    ] = timedelta(seconds=30)
    kept_alive: Annotated[
        timedelta, Setting("How long a connection is kept on which nothing is asked.", at_least=timedelta(seconds=1))
    ] = timedelta(seconds=75)
