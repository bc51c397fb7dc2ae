"""The live service: what it takes in, how long it believes what it knows, and what it keeps."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class Live(Section, frozen=True):
    """The live service (`scoter serve`)."""

    known_for: Annotated[
        timedelta, Setting("How long a URL that was fetched is answered from the store and not fetched again.")
    ] = timedelta(days=14)
    failed_for: Annotated[timedelta, Setting("How long a URL that could not be fetched is not tried again.")] = (
        timedelta(hours=1)
    )
    in_flight: Annotated[int, Setting("URLs that are worked on at the same time.", at_least=1)] = 1000
    lease: Annotated[
        timedelta,
        Setting("How long a scheduler holds what it took from the journal without a sign of life."),
    ] = timedelta(seconds=30)
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
    events_for: Annotated[timedelta, Setting("How long announcements can be read again.")] = timedelta(days=1)
