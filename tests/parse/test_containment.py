"""A hostile content costs its own limit, and only itself."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from tests.parse.contents import content, made_of_built_in

from scoter.core.page import Content, Page
from scoter.parse.chain import Parsed, ParseFailed, ParserChain
from scoter.parse.containment import Confinement

HOSTILE = b"<div>" * 100_000
GOOD = b'<title>Seals</title><a href="/x">x</a>'


class Peculiar:
    """A parser that does what its content says."""

    media_types: tuple[str, ...] = ("text/html",)

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
            case b"pid":
                return [Page(url=content.url, text=str(os.getpid()))]
        return [Page(url=content.url, text="fine", metadata={"a": "b"})]


def peculiar() -> ParserChain:
    return ParserChain([("peculiar", Peculiar())])


@pytest.fixture(scope="module")
def odd() -> Iterator[Confinement]:
    confinement = Confinement(peculiar)
    yield confinement
    confinement.close()


@pytest.fixture(scope="module")
def html() -> Iterator[Confinement]:
    confinement = Confinement(made_of_built_in(), timedelta(seconds=1), memory=400 * 1024 * 1024)
    yield confinement
    confinement.close()


def test_a_contained_page_is_the_page_that_it_is_in_place(html: Confinement) -> None:
    page = content(GOOD, robots="noindex")

    assert html.parse(page) == made_of_built_in()().parse(page)


def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_parsed(html: Confinement) -> None:
    start = time.monotonic()
    hostile = html.parse(content(HOSTILE))
    took = time.monotonic() - start
    good = html.parse(content(GOOD))

    assert isinstance(hostile, ParseFailed)
    assert hostile.reason == "timeout"
    assert took < 30
    assert isinstance(good, Parsed)
    assert good.page.title == "Seals"


def test_a_page_that_takes_too_much_memory_is_given_up_and_the_next_one_is_parsed() -> None:
    reopened = b"<p>" + b"".join(b"<b %d>" % number for number in range(3_000)) + b"<p>x" * 3_000
    confinement = Confinement(made_of_built_in(), timedelta(seconds=60), memory=300 * 1024 * 1024)

    hostile = confinement.parse(content(reopened))
    good = confinement.parse(content(GOOD))
    confinement.close()

    assert isinstance(hostile, ParseFailed)
    assert hostile.reason in ("memory", "crash", "broken_plugin")
    assert isinstance(good, Parsed)


@pytest.mark.parametrize(
    ("body", "reason"), [(b"die", "crash"), (b"grow", "memory"), (b"raise", "broken_plugin"), (b"none", "empty")]
)
def test_whatever_a_parser_does_is_an_answer(odd: Confinement, body: bytes, reason: str) -> None:
    failed = odd.parse(content(body))
    good = odd.parse(content(b"good"))

    assert isinstance(failed, ParseFailed)
    assert failed.reason == reason
    assert isinstance(good, Parsed)
    assert good.page.metadata == {"a": "b"}


def test_what_a_plugin_prints_is_not_taken_for_an_answer(odd: Confinement, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(odd.parse(content(b"print")), Parsed)


def test_one_process_serves_one_page_after_another_and_threads_wait_for_each_other(odd: Confinement) -> None:
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


def test_a_content_larger_than_a_pipe_goes_through_both_ways(html: Confinement) -> None:
    body = b"<p>" + b"words " * 300_000

    outcome = html.parse(content(body))

    assert isinstance(outcome, Parsed)
    assert len(outcome.page.text) == 6 * 300_000 - 1


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its own child")
def test_the_process_ends_with_the_crawl_that_started_it() -> None:
    script = (
        "import os; from tests.parse.contents import content; from tests.parse.test_containment import *\n"
        "print(Confinement(peculiar).parse(content(b'pid')).page.text, flush=True); input(); os._exit(1)"
    )
    crawl = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert crawl.stdin is not None
    assert crawl.stdout is not None
    worker = os.pidfd_open(int(crawl.stdout.readline()))

    crawl.communicate(b"\n")

    ended, _, _ = select.select([worker], [], [], 30)
    os.close(worker)
    assert ended == [worker]


def test_a_closed_confinement_has_no_process_and_starts_one_when_it_is_needed_again() -> None:
    confinement = Confinement(peculiar)
    first = confinement.parse(content(b"pid"))
    assert isinstance(first, Parsed)

    confinement.close()

    with pytest.raises(ProcessLookupError):
        os.kill(int(first.page.text), 0)
    assert isinstance(confinement.parse(content(b"good")), Parsed)
    confinement.close()
