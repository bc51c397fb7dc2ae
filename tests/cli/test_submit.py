"""Output and exit codes of `scoter submit`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.client.service import Asked, FakeService, Said, problem, receipts, said, stream
from tests.http.raw import serving
from tests.live.api.fakes import Bench
from tests.waiting import until

A, B = "http://a.example/", "http://b.example/"


def sent(service: FakeService) -> list[dict[str, object]]:
    return [each for asked in service.asked for each in (asked.json if isinstance(asked.json, list) else [asked.json])]


def test_each_argument_is_a_message(run: Run) -> None:
    with FakeService(receipts) as service:
        done = run("submit", "see a.example/b, please", "HTTPS://b.example/(x)", "--force", "--server", service.url)

    assert (done.code, done.out) == (0, f"accepted  {A}\n" * 2)
    first, second = sent(service)
    assert (first["text"], first["priority"], first["force"]) == ("see a.example/b, please", "person", True)
    assert second["urls"] == ["HTTPS://b.example/(x)"]
    assert "text" not in second


def test_json_is_one_receipt_per_line(run: Run) -> None:
    with FakeService(receipts) as service:
        done = run("submit", A, "--server", service.url, "--json")

    assert json.loads(done.out)["status"] == "accepted"


def test_rejected_urls_are_reported(run: Run) -> None:
    def answer(asked: Asked) -> Said:
        unusable = [{"url": "http://10.0.0.1/", "why": "a private address"}]
        told = {"id": asked.json["id"], "status": "accepted", "entries": {}, "unusable": unusable, "left_out": 2}
        return said(202, {"messages": [told]})

    with FakeService(answer) as service:
        done = run("submit", "http://10.0.0.1/", "--server", service.url)

    assert done.code == 1
    assert "http://10.0.0.1/: a private address" in done.err
    assert "2 more URLs" in done.err


def test_file_is_submitted_line_by_line_with_bulk_priority(run: Run, tmp_path: Path) -> None:
    lines = [f"{A}{number}" for number in range(1200)]
    (tmp_path / "urls").write_bytes("\r\n".join([*lines, "", "x" * 100_001, "y" * 900_000, "see b.example"]).encode())
    with FakeService(*[receipts] * 20) as service:
        done = run("submit", "--file", "urls", "--server", service.url)

    assert (done.code, done.out) == (0, "")
    assert "Accepted 1,201 messages with 1,201 URLs" in done.err
    assert "Skipped 2 lines with more than 100,000 characters" in done.err
    found = sent(service)
    assert [each.get("urls", [each.get("text")]) for each in found] == [*([line] for line in lines), ["see b.example"]]
    assert {each["priority"] for each in found} == {"bulk"}
    assert len({each["id"] for each in found}) == 1201


def test_dash_reads_stdin(run: Run) -> None:
    with FakeService(*[receipts] * 5) as service:
        done = run(
            "submit",
            "-",
            "--priority",
            "normal",
            "--server",
            service.url,
            stdin=f"{A}\nsee \udcff\n".encode("utf-8", "surrogateescape"),
        )

    assert done.code == 0, done.err
    assert [(each.get("text"), each.get("priority", "normal")) for each in sent(service)] == [
        (None, "normal"),
        ("see \ufffd", "normal"),
    ]


def test_full_service_is_retried_and_then_given_up(run: Run) -> None:
    with FakeService(problem(429, retry_after=60.0, detail="Come later.")) as service:
        done = run("submit", A, "--patience", "1s", "--server", service.url)

    assert done.code == 2
    assert "Come later." in done.err


@pytest.mark.parametrize("arguments", [(), (A, "--file", "urls"), ("--file", "nowhere"), (A, "--within", "x")])
def test_invalid_use_is_a_usage_error(run: Run, arguments: tuple[str, ...]) -> None:
    assert run("submit", *arguments).code == 2


@pytest.mark.parametrize("wait", [(), ("--wait",)])
def test_unreachable_service_is_one_message(run: Run, wait: tuple[str, ...]) -> None:
    with FakeService() as service:
        url = service.url
    done = run("submit", A, *wait, "--server", url)

    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 2
    assert "scoter serve" in done.err


@pytest.fixture
async def bench() -> AsyncIterator[tuple[Bench, str]]:
    """Return the real application on in-memory stores, which processes what it accepts."""
    made = Bench()

    async def work() -> None:
        while True:
            await made.work()
            await asyncio.sleep(0.01)

    async with serving(made.app) as port:
        running = [asyncio.create_task(made.streams.run()), asyncio.create_task(work())]
        yield made, f"http://127.0.0.1:{port}"
        made.streams.close()
        for each in running:
            each.cancel()
        await asyncio.wait(running)


async def test_outcomes_are_shown_as_they_arrive(bench: tuple[Bench, str], run: Run) -> None:
    done = await asyncio.to_thread(run, "submit", f"see {A} and {B}", A, "--wait", "--server", bench[1])

    assert done.code == 0, done.err
    assert sorted(line.split()[3] for line in done.out.splitlines()) == [A, A, B]


async def test_bulk_outcomes_are_json_events(bench: tuple[Bench, str], run: Run) -> None:
    urls = [f"http://h{number}.example/" for number in range(300)]
    done = await asyncio.to_thread(run, "submit", "-", "--wait", "--json", "--server", bench[1], stdin="\n".join(urls))

    assert done.code == 0, done.err
    assert sorted(json.loads(line)["url"] for line in done.out.splitlines()) == sorted(urls)
    assert "Accepted 300 messages with 300 URLs" in done.err


async def test_missing_outcomes_are_reported(run: Run) -> None:
    bench = Bench()
    async with serving(bench.app) as port:
        running = asyncio.create_task(bench.streams.run())
        done = await asyncio.to_thread(
            run, "submit", A, "--wait", "--within", "200ms", "--server", f"http://127.0.0.1:{port}"
        )
        bench.streams.close()
        await running

    assert (done.code, done.out) == (1, "")
    assert "1 URL not done yet" in done.err


async def test_missed_events_are_looked_up(run: Run) -> None:
    bench = Bench()
    seen: list[object] = []

    async def cut(scope: object, receive: object, send: object) -> None:
        """Close the first stream once it is open, and lose its position."""
        if scope["path"] != "/v1/events" or seen:  # type: ignore[index]
            await bench.app(scope, receive, send)  # type: ignore[arg-type]
            if scope["path"] == "/v1/messages":  # type: ignore[index]
                await bench.work()
            return
        seen.append(scope)
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"retry: 100\n\n", "more_body": True})  # type: ignore[operator]
        await until(lambda: bench.stores.events.last())
        await send({"type": "http.response.body", "body": b"", "more_body": False})  # type: ignore[operator]

    async with serving(cut) as port:
        running = asyncio.create_task(bench.streams.run())
        done = await asyncio.to_thread(run, "submit", A, "--wait", "--server", f"http://127.0.0.1:{port}")
        bench.streams.close()
        await running

    assert done.code == 0, done.err
    assert done.out.split()[3] == A


def test_failing_event_stream_ends_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is revoked while the maximum number of URLs is awaited."""
    monkeypatch.setattr("scoter.cli.submit._MOST_OPEN", 1)
    streams = iter([stream(b"retry: 100\n\n"), problem(401, "key-unknown")])

    def answer(asked: Asked) -> Said:
        return next(streams) if asked.target.startswith("/v1/events") else receipts(asked)

    with FakeService(*[answer] * 10) as service:
        done = run("submit", A, B, "--wait", "--server", service.url)

    assert done.code == 2
    assert "401" in done.err or "It is so." in done.err


def test_interrupted_run_reports_a_lower_bound(tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("".join(f"http://a.example/{n}\n" for n in range(200)))
    scoter = [sys.executable, "-m", "scoter", "submit", "--file", "urls", "--json", "--server"]
    reader, writer = os.pipe()
    os.close(reader)
    with FakeService(receipts) as service:
        done = subprocess.run(
            [*scoter, service.url], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    os.close(writer)

    assert len(sent(service)) == 200
    assert done.returncode == 0
    assert done.stderr.startswith("Accepted at least 1 message with 1 URL")


def test_folder_instead_of_file_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    done = run("submit", "--file", "folder")

    assert (done.code, done.out) == (2, "")
    assert done.err == "scoter: folder: cannot be read: Is a directory\n"


def test_empty_file_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("\n\n")
    with FakeService() as service:
        done = run("submit", "--file", "urls", "--server", service.url)

    assert (done.code, done.out, done.err) == (1, "", "There was nothing to submit.\n")
