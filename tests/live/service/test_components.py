"""The components of a service's processes, without the processes."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import stat
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from scoter.config import load
from scoter.core.url import canonical
from scoter.errors import UsageError
from scoter.http.metrics import Counter, Histogram, Reading
from scoter.http.server import HttpServer, open_sockets
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.background import DEFECT
from scoter.live.service.api_keys import known_keys, make_key, parse_scopes, revoke_key
from scoter.live.service.components import CoreComponents, live_config, readings
from scoter.live.service.core import CoreProcess
from scoter.live.service.plan import ServiceFolder
from scoter.live.service.process import READY, SupervisorLink
from scoter.parse import ContentParser, Parsed, make_content


class Task:
    """A task that runs until it is stopped, or fails at once."""

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure
        self._stopped = asyncio.Event()

    async def run(self) -> None:
        if self._failure is not None:
            raise self._failure
        await self._stopped.wait()

    def stop(self) -> None:
        self._stopped.set()

    async def ready(self) -> None:
        pass

    async def flush(self) -> None:
        pass


class FakeComponents:
    def __init__(self, failure: Exception | None = None) -> None:
        self.scheduler = Task(failure)
        self.workers = Task()
        self.webhooks = Task()
        self.streams = Task()
        self.log = Task()
        self.cleanup = Task()
        self.metrics_receiver = Task()
        self.history = Task()
        self.probe = Task()
        self.retries = Task()


def running(parts: FakeComponents) -> CoreProcess:
    serving = Task()
    whole = CoreProcess(cast(CoreComponents, parts), cast(HttpServer, serving))
    serving.stop = lambda: (Task.stop(serving), parts.streams.stop())[0]  # type: ignore[method-assign,func-returns-value]
    return whole


async def test_core_reports_ready_and_ends_with_the_supervisor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        joint = SupervisorLink(theirs)
        listener = asyncio.create_task(joint.listen())
        work = asyncio.create_task(running(FakeComponents()).until(joint))

        said = await asyncio.to_thread(ours.recv, 100)
        ours.close()
        code = await asyncio.wait_for(work, 5)
        await listener

    _forget_the_deadline()
    assert (said, code) == (READY, 0)


async def test_supervisor_that_does_not_read_heartbeats_does_not_block_the_process() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        beating = asyncio.create_task(SupervisorLink(theirs).send_heartbeats(0))

        for _ in range(3_000):  # more than a socket buffers
            await asyncio.sleep(0)

        assert not beating.done()
        beating.cancel()


async def test_supervisor_death_is_noticed_with_heartbeats_unread() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        joint = SupervisorLink(theirs)
        beating = asyncio.create_task(joint.send_heartbeats(60.0))
        listener = asyncio.create_task(joint.listen())
        await asyncio.sleep(0)
        ours.close()

        await asyncio.wait_for(joint.stopping.wait(), 5)
        beating.cancel()
        await asyncio.gather(listener, beating, return_exceptions=True)

    _forget_the_deadline()


async def test_failed_task_ends_the_core_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, caplog.at_level(logging.CRITICAL):
        code = await asyncio.wait_for(running(FakeComponents(RuntimeError("boom"))).until(SupervisorLink(theirs)), 5)

    _forget_the_deadline()
    assert code == DEFECT
    assert "its task 'scheduler' ended" in caplog.text
    assert "boom" in caplog.text


def _forget_the_deadline() -> None:
    import faulthandler

    faulthandler.cancel_dump_traceback_later()


def test_port_is_shared_by_its_own_sockets_only() -> None:
    with open_sockets("127.0.0.1", 0, 2) as (first, second):
        port = first.getsockname()[1]

        with pytest.raises(UsageError, match=f"port {port}"), open_sockets("127.0.0.1", port, 1):
            pass

        assert second.getsockname() == first.getsockname()
    with open_sockets("127.0.0.1", port, 1) as (again,):
        assert again.getsockname()[1] == port


def test_directory_name_must_be_utf8(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be UTF-8"):
        ServiceFolder(tmp_path / "live\udcff").create()

    assert list(tmp_path.iterdir()) == []


def test_sockets_of_a_directory_with_a_long_path_are_elsewhere(tmp_path: Path) -> None:
    folder = ServiceFolder(tmp_path / ("long" * 40))

    folder.create()

    try:
        assert len(os.fsencode(folder.socket)) < 100
        assert folder.run.stat().st_mode & 0o777 == 0o700
        assert folder.run == ServiceFolder(folder.root).run != ServiceFolder(tmp_path / ("Long" * 40)).run
    finally:
        folder.run.rmdir()


def test_new_service_directory_is_private(tmp_path: Path) -> None:
    earlier = os.umask(0o022)
    try:
        ServiceFolder(tmp_path / "new" / "live").create()
        (tmp_path / "shared").mkdir(mode=0o750)
        ServiceFolder(tmp_path / "shared").create()
    finally:
        os.umask(earlier)

    assert (tmp_path / "new" / "live").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o750  # the mode of an existing directory is kept


def test_socket_directory_accessible_to_others_is_refused(tmp_path: Path) -> None:
    folder = ServiceFolder(tmp_path / ("long" * 40))
    folder.run.mkdir(mode=0o777)
    folder.run.chmod(0o777)

    try:
        with pytest.raises(UsageError, match="accessible to others"):
            folder.create()
    finally:
        folder.run.rmdir()


def test_webhook_secret_is_created_once_and_private(tmp_path: Path) -> None:
    first, second = ServiceFolder(tmp_path).secret(), ServiceFolder(tmp_path).secret()

    assert first == second
    assert len(first) == 64
    assert stat.S_IMODE((tmp_path / "webhook.secret").stat().st_mode) == 0o600


def test_live_mode_always_parses_metadata_and_never_links() -> None:
    config = live_config(load(overrides=["parse.metadata=false", "parse.script_links=true"]))
    markup = (
        b"<title>T</title><link rel=canonical href=/c><a href=/a>a</a><img src=/i><script>'http://x.test/'</script>"
    )
    content = make_content(canonical("http://example.org/"), (("Content-Type", "text/html"),), markup)

    with ContentParser(config) as parsing:
        outcome = parsing.parse(content)

    assert isinstance(outcome, Parsed)
    assert outcome.page.about is not None
    assert outcome.page.about.title == "T"
    assert str(outcome.page.canonical) == "http://example.org/c"
    assert outcome.page.outlinks == ()


def test_live_mode_has_its_own_content_limit_and_parses_truncated_pages() -> None:
    config = live_config(load(overrides=["fetch.content_limit=2MiB", "live.content_limit=3KiB"]))
    headers = (("Content-Type", "text/html"),)
    content = make_content(canonical("http://example.org/"), headers, b"<title>T</title><p>cut o", truncated=True)

    with ContentParser(config) as parsing:
        outcome = parsing.parse(content)

    assert config.fetch.content_limit == 3 * 1024
    assert isinstance(outcome, Parsed)
    assert outcome.page.about is not None
    assert outcome.page.about.title == "T"


@pytest.mark.parametrize(
    ("overrides", "seconds"),
    [
        ((), 1),
        (("fetch.delay=5s",), 5),  # its default, but set
        (("fetch.delay=0s",), 0),
        (("live.delay=3s",), 3),
        (("fetch.delay=5s", "live.delay=3s"), 3),
    ],
)
def test_live_delay_gives_way_to_an_explicit_fetch_delay(overrides: tuple[str, ...], seconds: int) -> None:
    assert live_config(load(overrides=overrides)).fetch.delay == timedelta(seconds=seconds)


def test_metrics_follow_the_naming_rules_of_prometheus() -> None:
    metrics = ServiceMetrics(readings(cast(CoreComponents, None))).metrics()  # nothing is read here

    assert len({metric.name for metric in metrics}) == len(metrics)
    for metric in metrics:
        words = metric.name.split("_")
        assert isinstance(metric, Counter | Histogram | Reading)
        labels = (metric.label,) if isinstance(metric, Histogram) else metric.labels
        is_counter = isinstance(metric, Counter) or (isinstance(metric, Reading) and words[-1] == "total")
        assert re.fullmatch(r"scoter(_[a-z]+)+", metric.name)
        assert (words[-1] == "total") == is_counter, metric.name
        # One base unit, and it is the last word; no other suffix that means something.
        unit_at = [at for at, word in enumerate(words) if word in ("seconds", "bytes")]
        assert unit_at in ([], [len(words) - 1 - is_counter]), metric.name
        assert unit_at or not isinstance(metric, Histogram), metric.name
        reserved = {"count", "sum", "bucket", "info", "gauge", "counter", "histogram", "ms", "milliseconds", "kb", "mb"}
        assert not reserved & set(words), metric.name
        assert metric.help_text.endswith("."), metric.name
        assert all(re.fullmatch(r"[a-z]+", label) and label not in ("le", "quantile") for label in labels), metric.name


async def test_keys_can_be_managed_while_the_service_is_stopped(tmp_path: Path) -> None:
    folder = ServiceFolder(tmp_path / "live")
    assert known_keys(folder) == ()

    key, token = await make_key(folder, "a client", parse_scopes("read,read, submit"), 5.0)

    assert token.startswith(f"scoter_{key.id}_")
    assert [(each.name, each.scopes, each.rate) for each in known_keys(folder)] == [
        ("a client", ("read", "submit"), 5.0)
    ]
    assert await revoke_key(folder, key.id)
    assert not await revoke_key(folder, key.id)
    assert not known_keys(folder)


@pytest.mark.parametrize(("text", "told"), [("raed", "Did you mean read"), ("", "no scope"), (" , ", "no scope")])
def test_unknown_scope_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_scopes(text)
    assert told in str(error.value)
