"""The live service's HTTP API: how much a client may ask of it."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size

_MOMENT = timedelta(milliseconds=1)


class Web(Section, frozen=True):
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
