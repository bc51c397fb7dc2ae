"""Hostile contents stay within their limits and do not affect the next content."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from tests.long.memory import resident_mib
from tests.parse.contents import content
from tests.parse.hostile.cases import ALL, Case
from tests.parse.hostile.everything import made_of_everything

from scoter.parse import Parsed, ParseFailed
from scoter.parse.parser_process import ParserProcess, frame

pytestmark = pytest.mark.slow

CPU = timedelta(seconds=3)
WALL = timedelta(seconds=30)  # the machine may be busy
MEMORY = 700 * 1024 * 1024
LARGEST = 64 * 1024 * 1024
STOPPED = ("timeout", "cpu", "memory", "crash")


@pytest.fixture(scope="module")
def everything() -> Iterator[ParserProcess]:
    process = ParserProcess(made_of_everything(), WALL, MEMORY, CPU)
    yield process
    process.close()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in ALL])
def test_hostile_content_is_limited_in_time_and_memory(everything: ParserProcess, case: Case) -> None:
    hostile = content(case.body(), case.media_type)
    before, start = resident_mib(), time.monotonic()

    outcome = everything.parse(hostile)
    took = time.monotonic() - start
    good = everything.parse(content(b"<title>Seals</title>"))

    assert isinstance(good, Parsed)
    assert good.page.title == "Seals"
    assert took < 2 * WALL.total_seconds()  # a content may be retried in a fresh process
    assert resident_mib() - before < 400
    if isinstance(outcome, ParseFailed):
        assert outcome.reason in (*STOPPED, "empty"), outcome
        assert case.stopped is not False or outcome.reason == "empty", outcome
        assert case.stopped is not True or outcome.reason in STOPPED, outcome
    else:
        assert case.stopped is not True
        assert len(frame(outcome)) < LARGEST
        assert sum(len(page.outlinks) for page in outcome.pages) <= 20_000


def test_hostile_content_cannot_read_files(everything: ParserProcess) -> None:
    inside = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'

    for kind, body in (
        ("application/xml", inside + b"<x>a &e; b</x>"),
        ("application/rss+xml", inside + b"<rss><channel><title>a &e; b</title></channel></rss>"),
        ("application/xml", inside + b"<urlset><url><loc>http://a.example/&e;</loc></url></urlset>"),
        ("image/svg+xml", inside + b"<svg><title>a &e; b</title></svg>"),
    ):
        assert b"root:" not in frame(everything.parse(content(body, kind)))
