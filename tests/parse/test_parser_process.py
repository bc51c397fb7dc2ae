"""ParserProcess: limits, crashes and replacement of the process."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from tests.parse.contents import content, made_of_built_in

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.parse.chain import ParserChain
from scoter.parse.parser_process import ParserProcess
from scoter.parse.records import Parsed, ParseFailed

HOSTILE = b"<svg>" + b"<div/>" * 100_000  # the pre-scan takes them for empty elements of the picture
GOOD = b'<title>Seals</title><a href="/x">x</a>'


class Peculiar:
    """A parser that does what its content says."""

    media_types: tuple[str, ...] = ("text/html",)

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def parse(self, content: Content) -> Sequence[Page]:
        match content.body:
            case b"die":
                os.kill(os.getpid(), signal.SIGSEGV)
            case b"print":
                print("this is no answer")
            case b"grow":
                return [Page(url=content.url, text="x" * (1 << 40))]
            case b"raise":
                raise ValueError("no page for you")
            case b"none":
                return []
            case b"spin":
                while True:
                    pass
            case b"wait":
                threading.Event().wait()
            case b"huge":
                return [Page(url=content.url, text="x" * 140_000_000)]
            case b"keep":
                self.kept.append(bytes(150_000_000))
                return [Page(url=content.url, text=str(os.getpid()))]
            case b"connect":
                socket.create_connection(("127.0.0.1", 9))
            case b"resolve":
                socket.getaddrinfo("a.example", 80)
            case b"read":
                return [Page(url=content.url, text=repr(os.read(0, 10)))]
            case b"child":
                sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
                return [Page(url=content.url, text=str(sleeper.pid))]
            case b"later":  # fails from the second content on
                self.kept.append(b"")
                if len(self.kept) > 1:
                    os.abort()
            case b"pid":
                return [Page(url=content.url, text=str(os.getpid()))]
        return [Page(url=content.url, text="fine", metadata={"a": "b"})]


def peculiar() -> ParserChain:
    return ParserChain([("peculiar", Peculiar())])


@pytest.fixture(scope="module")
def odd() -> Iterator[ParserProcess]:
    process = ParserProcess(peculiar)
    yield process
    process.close()


@pytest.fixture(scope="module")
def html() -> Iterator[ParserProcess]:
    process = ParserProcess(made_of_built_in(), timedelta(seconds=1), memory=400 * 1024 * 1024)
    yield process
    process.close()


def test_result_equals_that_of_parsing_in_place(html: ParserProcess) -> None:
    page = content(GOOD, robots="noindex")

    assert html.parse(page) == made_of_built_in()().parse(page)


def test_timeout_does_not_affect_the_next_page(html: ParserProcess) -> None:
    start = time.monotonic()
    hostile = html.parse(content(HOSTILE))
    took = time.monotonic() - start
    good = html.parse(content(GOOD))

    assert isinstance(hostile, ParseFailed)
    assert hostile.reason == "timeout"
    assert took < 30
    assert isinstance(good, Parsed)
    assert good.page.title == "Seals"


def test_memory_limit_does_not_affect_the_next_page() -> None:
    reopened = b"<p>" + b"".join(b"<b %d>" % number for number in range(3_000)) + b"<p>x" * 3_000
    process = ParserProcess(made_of_built_in(), timedelta(seconds=60), memory=300 * 1024 * 1024)

    hostile = process.parse(content(reopened))
    good = process.parse(content(GOOD))
    process.close()

    assert isinstance(hostile, ParseFailed)
    assert hostile.reason == "memory"
    assert isinstance(good, Parsed)


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        (b"die", "crash", "SIGSEGV"),
        (b"grow", "memory", "refused an allocation"),
        (b"huge", "memory", "the pages take 134 MiB"),
        (b"raise", "broken_plugin", "peculiar: ValueError: no page for you"),
        (b"none", "empty", "peculiar"),
        (b"connect", "broken_plugin", "blocked in the parser process (socket.getaddrinfo)"),
        (b"resolve", "broken_plugin", "blocked in the parser process (socket.getaddrinfo)"),
    ],
)
def test_every_parser_failure_becomes_a_result(odd: ParserProcess, body: bytes, reason: str, detail: str) -> None:
    failed = odd.parse(content(body))
    good = odd.parse(content(b"good"))

    assert isinstance(failed, ParseFailed)
    assert failed.reason == reason
    assert detail in failed.detail
    assert isinstance(good, Parsed)
    assert good.page.metadata == {"a": "b"}


def test_output_of_a_plug_in_is_not_taken_for_a_result(odd: ParserProcess, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(odd.parse(content(b"print")), Parsed)


def test_threads_share_one_process(odd: ParserProcess) -> None:
    found: list[str] = []

    def work() -> None:
        outcome = odd.parse(content(b"pid"))
        assert isinstance(outcome, Parsed)
        found.append(outcome.page.text)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    assert len(set(found)) == 1


def test_content_larger_than_the_pipe_buffer_is_transferred(html: ParserProcess) -> None:
    body = b"<p>" + b"words " * 300_000

    outcome = html.parse(content(body))

    assert isinstance(outcome, Parsed)
    assert len(outcome.page.text) == 6 * 300_000 - 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its own child")
def test_process_ends_with_its_parent() -> None:
    script = (
        "import os; from tests.parse.contents import content; from tests.parse.test_parser_process import *\n"
        "print(ParserProcess(peculiar).parse(content(b'pid')).page.text, flush=True); input(); os._exit(1)"
    )
    crawl = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert crawl.stdin is not None
    assert crawl.stdout is not None
    worker = os.pidfd_open(int(crawl.stdout.readline()))

    crawl.communicate(b"\n")

    ended, _, _ = select.select([worker], [], [], 30)
    os.close(worker)
    assert ended == [worker]


def test_closed_process_restarts_on_demand() -> None:
    process = ParserProcess(peculiar)
    first = process.parse(content(b"pid"))
    assert isinstance(first, Parsed)

    process.close()

    with pytest.raises(ProcessLookupError):
        os.kill(int(first.page.text), 0)
    assert isinstance(process.parse(content(b"good")), Parsed)
    process.close()


@pytest.mark.parametrize(("body", "reason"), [(b"spin", "cpu"), (b"wait", "timeout")])
def test_cpu_time_and_wall_time_are_limited_separately(body: bytes, reason: str) -> None:
    cpu, wall = (0.2, 30) if reason == "cpu" else (30, 0.3)
    process = ParserProcess(peculiar, timedelta(seconds=wall), cpu=timedelta(seconds=cpu))

    failed = process.parse(content(body))
    good = process.parse(content(b"good"))
    process.close()

    assert isinstance(failed, ParseFailed)
    assert (failed.reason, failed.detail.partition(" s")[0]) == (reason, f"after {cpu if reason == 'cpu' else wall:g}")
    assert isinstance(good, Parsed)


def test_cpu_time_is_counted_per_content() -> None:
    process = ParserProcess(made_of_built_in(), timedelta(seconds=60), cpu=timedelta(seconds=0.6))
    slow = content(b"<div>" * 5_000 + b"x")  # takes about 40 ms

    outcomes = [process.parse(slow) for _ in range(20)]
    process.close()

    assert all(isinstance(outcome, Parsed) for outcome in outcomes)


def test_callers_behind_a_hostile_page_get_their_results() -> None:
    process = ParserProcess(peculiar, timedelta(seconds=0.5))
    found: dict[int, Parsed | ParseFailed] = {}
    bodies = [b"good", b"die", b"pid", b"spin", b"good", b"grow", b"pid", b"raise", b"good"]

    def work(number: int) -> None:
        found[number] = process.parse(content(bodies[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.close()

    failed = {bodies[number] for number, outcome in found.items() if isinstance(outcome, ParseFailed)}
    assert len(found) == len(bodies)
    assert failed == {b"die", b"spin", b"grow", b"raise"}


def test_process_with_high_memory_use_is_replaced() -> None:
    process = ParserProcess(peculiar, memory=300 * 1024 * 1024)

    outcomes = [process.parse(content(b"keep")) for _ in range(3)]
    process.close()

    assert len({outcome.page.text for outcome in outcomes if isinstance(outcome, Parsed)}) == 3


def test_content_is_retried_in_a_fresh_process_after_a_crash() -> None:
    process = ParserProcess(peculiar)

    first, second = process.parse(content(b"later")), process.parse(content(b"later"))
    process.close()

    assert isinstance(first, Parsed)
    assert isinstance(second, Parsed)


def test_child_command_cannot_read_the_contents(odd: ParserProcess) -> None:
    outcome = odd.parse(content(b"read"))

    assert isinstance(outcome, Parsed)
    assert outcome.page.text == "b''"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its own child")
def test_children_of_the_process_end_with_it() -> None:
    process = ParserProcess(peculiar)
    outcome = process.parse(content(b"child"))
    assert isinstance(outcome, Parsed)
    child = os.pidfd_open(int(outcome.page.text))

    process.close()

    ended, _, _ = select.select([child], [], [], 30)
    os.close(child)
    assert ended == [child]


def test_limits_come_from_the_configuration() -> None:
    process = ParserProcess.of(load(overrides=["parse.memory=300MiB", "parse.timeout=2s"]))

    assert (process.memory, process.timeout) == (300 * 2**20, timedelta(seconds=2))
