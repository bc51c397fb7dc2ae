"""`scoter doctor` finds each kind of fault, and says what to do."""

from __future__ import annotations

import json
import os
import resource
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.batch.api.crawls import crawled
from tests.cli.conftest import Outcome, Run
from tests.live.service.running import service

from scoter.cli.diagnosis import installation
from scoter.cli.diagnosis.crawl import check_conditional_writes
from scoter.cli.diagnosis.findings import Finding, FindingKind, Findings
from scoter.cli.diagnosis.installation import check_clock
from scoter.cli.diagnosis.remote_service import check_running
from scoter.live.sqlite.database import ServiceDb
from scoter.store.objects.client import ABSENT
from scoter.store.objects.registry import client_of

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled(), tmp_path / "news"))


def faults(done: Outcome) -> dict[str, Mapping[str, str]]:
    """Return the faults in the JSON output of the command by what was checked."""
    assert done.err == ""
    found = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == int(any(each["verdict"] == "fault" for each in found))
    return {each["check"]: each for each in found if each["verdict"] == "fault"}


def only(findings: Findings, verdict: FindingKind) -> list[Finding]:
    return [each for each in findings if each.verdict is verdict]


def test_a_healthy_installation_has_nothing_to_mend(run: Run) -> None:
    done = run("doctor", "--host", "localhost", "-Dagent.name=testbot")

    assert done.code == 0
    assert "localhost is" in done.out
    assert done.out.splitlines()[-1].startswith("0 to mend, ")


def test_a_name_that_cannot_be_resolved_is_a_fault(run: Run) -> None:
    found = faults(run("doctor", "--json", "--host", "nothing.invalid"))

    assert "cannot resolve nothing.invalid" in found["DNS"]["found"]
    assert "resolv.conf" in found["DNS"]["remedy"]


def test_a_missing_package_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["msgspec>=0.20", "nobody-has-this>=1", 'only-elsewhere>=1; python_version < "3"']
    monkeypatch.setattr(installation, "requires", lambda name: needed)

    found = faults(run("doctor", "--json", "--host", "localhost"))

    assert found["packages"]["found"] == "not installed: nobody-has-this"


def test_few_open_files_are_a_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 256))

    found = faults(run("doctor", "--json", "--host", "localhost"))

    assert "LimitNOFILE" in found["open files"]["remedy"]


def test_a_clock_before_the_installation_is_a_fault() -> None:
    findings = Findings()

    check_clock(findings, datetime(2001, 1, 1, tzinfo=UTC))

    (fault,) = only(findings, FindingKind.FAULT)
    assert "NTP" in fault.remedy


def test_a_healthy_crawl_has_nothing_to_mend(run: Run, crawl: Path) -> None:
    done = run("doctor", "news", "--thorough", "-Dstore.disk_floor=0")

    assert done.code == 0, done.out
    assert "all checksums are right" in done.out
    assert "2 segments" in done.out


@pytest.mark.parametrize(
    ("content", "found", "remedy"),
    [
        ("{", "the file is damaged", "Restore it"),
        ('{"format": 99}', "newer version of Scoter (format 99", "Restore it"),
        (None, "not a crawl directory", "scoter inject"),
    ],
)
def test_a_crawl_that_cannot_be_opened_is_a_fault(
    run: Run, crawl: Path, content: str | None, found: str, remedy: str
) -> None:
    marker = crawl / "crawl.json"
    marker.write_text(content or "")
    if content is None:
        marker.unlink()

    told = faults(run("doctor", "news", "--json"))

    assert found in told["crawl"]["found"]
    assert remedy in told["crawl"]["remedy"]


def test_a_truncated_table_is_a_fault_and_a_changed_byte_when_checksums_are_compared(run: Run, crawl: Path) -> None:
    current = (crawl / "crawldb" / "CURRENT").read_text().strip()
    part = next((crawl / "crawldb" / current).glob("part-*.parquet"))
    data = bytearray(part.read_bytes())
    data[10] ^= 1
    part.write_bytes(data)
    assert faults(run("doctor", "news", "--json")) == {}
    assert "checksum" in faults(run("doctor", "news", "--json", "--thorough"))["table crawldb"]["found"]

    part.write_bytes(data[:-5])
    assert "bytes, not" in faults(run("doctor", "news", "--json"))["table crawldb"]["found"]


def test_damaged_segments_are_named(run: Run, crawl: Path) -> None:
    first, second = sorted((crawl / "segments").iterdir())
    (first / "segment.json").write_text("{")
    next(second.glob("parse_data/*.parquet")).write_bytes(b"PAR1 and no end")

    found = faults(run("doctor", "news", "--json"))

    assert found.keys() == {f"segment {first.name}", f"segment {second.name}"}
    assert "parse_data" in found[f"segment {second.name}"]["found"]


def test_a_damaged_index_is_built_again(run: Run, crawl: Path) -> None:
    next((crawl / "index").glob("*/*.term")).write_bytes(b"")

    found = faults(run("doctor", "news", "--json"))

    assert "scoter index" in found["index"]["remedy"]


def test_a_nearly_full_disk_is_a_fault(run: Run, crawl: Path) -> None:
    found = faults(run("doctor", "news", "--json", "-Dstore.disk_floor=1000TiB"))

    assert "store.disk_floor requires" in found["disk"]["found"]


def test_files_that_this_user_cannot_use_are_named(run: Run, crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker, allowed = str(crawl / "crawl.json"), os.access  # root may use everything
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("crawl.json") and allowed(path, mode))

    found = faults(run("doctor", "news", "--json"))

    assert Path(marker).name in found["permissions"]["found"]
    assert "chown" in found["permissions"]["remedy"]


class Careless:
    """An object store that honours only some of the conditions of writes."""

    has_conditions = True

    def __init__(self, *, honours: frozenset[str]) -> None:
        self._client, _ = client_of("memory://doctor/crawl")
        self._honours = honours
        self.keys: list[str] = []

    def put(self, key: str, data: bytes, replaces: str | None = None) -> str:
        self.keys.append(key)
        kind = "create" if replaces == ABSENT else "replace"
        if kind in self._honours or len(self.keys) == 1:
            return self._client.put(key, data, replaces)
        return self._client.put(key, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def test_a_store_that_ignores_conditions_is_a_fault_and_nothing_is_left_in_it() -> None:
    findings, store = Findings(), Careless(honours=frozenset())

    check_conditional_writes(findings, store, "crawl")

    (fault,) = only(findings, FindingKind.FAULT)
    assert "only be created" in fault.found
    assert store.get(store.keys[0]) is None


def test_a_store_that_can_only_create_gets_advice() -> None:
    findings = Findings()
    client, folder = client_of("memory://doctor-create/crawl")

    check_conditional_writes(findings, client, folder)

    assert [each.check for each in only(findings, FindingKind.ADVICE)] == ["object store"]


@pytest.fixture
def live(tmp_path: Path) -> Path:
    folder = tmp_path / "live"
    folder.mkdir()
    ServiceDb(folder / "service.sqlite").close()
    (folder / "webhook.secret").touch(0o600)
    return folder


def test_a_healthy_directory_of_a_service_has_nothing_to_mend(run: Run, live: Path) -> None:
    assert faults(run("doctor", "live", "--json", "--thorough", "-Dstore.disk_floor=0")) == {}


def test_a_damaged_or_missing_database_and_an_open_secret_are_faults(run: Run, live: Path) -> None:
    (live / "webhook.secret").chmod(0o644)
    database = live / "service.sqlite"
    database.write_bytes(b"SQLite format 3\0" + bytes(5_000))
    found = faults(run("doctor", "live", "--json"))
    assert found.keys() == {"callback secret", "database"}
    assert "chmod 600" in found["callback secret"]["remedy"]

    database.unlink()
    (live / "content").mkdir()
    assert "missing" in faults(run("doctor", "live", "--json"))["database"]["found"]


@contextmanager
def served(answers: Mapping[str, tuple[int, str]], date: str = "Thu, 19 Nov 2026 12:00:00 GMT") -> Iterator[str]:
    """Serve canned answers; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, ""))
            self.send_response_only(status)
            self.send_header("Date", date)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


WELL: Mapping[str, tuple[int, str]] = {
    "/healthz": (200, "{}"),
    "/readyz": (200, "{}"),
    "/v1/openapi.json": (200, json.dumps({"info": {"title": "Scoter", "version": "1"}})),
    "/metrics": (200, "scoter_disk_free_bytes 9e9\nscoter_disk_floor_bytes 1e9\nscoter_journal_oldest_seconds 3\n"),
}


def check(answers: Mapping[str, tuple[int, str]], **more: str) -> Findings:
    findings = Findings()
    with served({**WELL, **answers}, **more) as url:
        check_running(findings, url, "", lambda: NOW)
    return findings


def test_a_service_that_is_well_has_nothing_to_mend() -> None:
    findings = check({})

    assert {each.verdict for each in findings} == {FindingKind.OK}


@pytest.mark.parametrize(
    ("path", "answer", "checked", "found"),
    [
        ("/healthz", (500, ""), "service", "/healthz is 500"),
        ("/v1/openapi.json", (200, "<html>"), "service", "not a service of Scoter"),
        ("/readyz", (503, '{"title": "The disk is full."}'), "ready", "The disk is full."),
        ("/metrics", (401, '{"title": "A key is needed."}'), "metrics", "A key is needed."),
        ("/metrics", (200, "scoter_store_damaged 1\n"), "database", "damaged"),
        ("/metrics", (200, "scoter_journal_oldest_seconds 4000\n"), "queue", "waiting for"),
        ("/metrics", (200, 'scoter_processes{role="worker"} 0\n'), "processes", "worker"),
        ("/metrics", (200, "scoter_dead_letters 3\n"), "dead letters", "3 messages"),
        ("/metrics", (200, "scoter_clock_skew_seconds -90\n"), "clocks", "-90 s"),
        ("/metrics", (200, "scoter_disk_free_bytes 1e9\nscoter_disk_floor_bytes 1e9\n"), "disk of the service", "free"),
    ],
)
def test_what_a_service_says_of_itself_is_judged(path: str, answer: tuple[int, str], checked: str, found: str) -> None:
    (fault,) = only(check({path: answer}), FindingKind.FAULT)

    assert fault.check == checked
    assert found in fault.found
    assert fault.remedy


def test_clocks_that_differ_are_a_fault() -> None:
    (fault,) = only(check({}, date="Thu, 19 Nov 2026 11:50:00 GMT"), FindingKind.FAULT)

    assert "ahead of the service" in fault.found


def test_another_version_of_the_api_is_a_fault() -> None:
    (fault,) = only(check({"/v1/openapi.json": (200, '{"info": {"title": "T", "version": "9"}}')}), FindingKind.FAULT)

    assert "version 9 of the API; this is version 1" in fault.found


def test_a_real_service_has_nothing_to_mend(run: Run, tmp_path: Path) -> None:
    with service(tmp_path / "live", 9) as real:
        real.wait_until_ready()
        done = run("doctor", f"http://127.0.0.1:{real.port}", "--json")

    assert faults(done) == {}
    assert {json.loads(line)["verdict"] for line in done.out.splitlines()} == {"ok"}, done.out


def test_a_service_that_does_not_answer_is_a_fault(run: Run) -> None:
    with served({}) as url:
        pass  # nobody listens there any more

    assert "Connection refused" in faults(run("doctor", url, "--json"))["service"]["found"]


def test_servers_that_cannot_be_reached_are_faults(run: Run) -> None:
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("acsylla")
    nowhere = ['kafka.brokers=["127.0.0.1:1"]', "kafka.timeout=1s", 'cassandra.hosts=["127.0.0.1"]', "cassandra.port=1"]
    options = [f"-D{each}" for each in ("live.backend=cluster", "cassandra.timeout=1s", *nowhere)]

    found = faults(run("doctor", "--json", "--host", "localhost", *options))

    assert "kafka.brokers" in found["Kafka"]["remedy"]
    assert "cassandra.hosts" in found["Cassandra"]["remedy"]
