"""Responses that do not fit into a message of Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.live.kafka.pages import serving
from tests.live.kafka.running import Cluster, cluster
from tests.live.kafka.test_outcomes import announced, pipeline, send
from tests.live.stores.fakes import done
from tests.stores.servers import BUCKET, environment, server_port

from scoter.config import Config
from scoter.core.metadata import PageMetadata
from scoter.errors import StoreUnavailable, UsageError
from scoter.live.kafka.faults import FAULTS
from scoter.live.kafka.kafka import TopicNames, admin_client, create_topics
from scoter.live.kafka.large_replies import LargeReplies
from scoter.live.ports import UrlOutcome

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]
LARGE = 900_000


def page(url: str) -> bytes:
    return b"<title>Page</title>" + b"x" * (LARGE if "large" in url else 500)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket of an S3 server, which this process and those it starts use."""
    import boto3

    from scoter.store.objects import registry

    port = server_port("moto")
    for name, value in environment(f"http://127.0.0.1:{port}").items():
        monkeypatch.setenv(name, value)
    registry._clients.clear()
    yield boto3.resource("s3").Bucket(BUCKET)
    registry._clients.clear()


async def test_reply_is_read_once(bucket: Any) -> None:
    replies = LargeReplies(f"s3://{BUCKET}/bodies")
    name = await replies.put(b"reply" * 1000)
    assert [each.key for each in bucket.objects.all()] == [f"bodies/{name}"]

    assert await replies.take(name) == b"reply" * 1000

    assert list(bucket.objects.all()) == []
    with pytest.raises(StoreUnavailable, match="no reply"):
        await replies.take(name)


def test_folder_of_bodies_must_be_a_url() -> None:
    with pytest.raises(UsageError, match="not the URL of an object store"):
        LargeReplies("bodies")


def finished(live: Cluster, name: str, *urls: str) -> dict[str, Any]:
    name = f"{live.prefix}-{name}"
    assert live.api.submit(*urls, id=name, force=True).status == 202
    live.wait_until_announced({(name, url) for url in urls}, 60)
    return {event.url: event.record for event in live.events() if event.message == name}


def test_large_response_goes_through_the_object_store_or_fails_alone(tmp_path: Path, prefix: str, bucket: Any) -> None:
    with serving(page) as port:
        more = ("kafka.body_limit=128KiB", f"kafka.bodies=s3://{BUCKET}/bodies", "fetch.content_limit=4MiB")
        with cluster(tmp_path, port, prefix, ("worker", "pipeline", "api"), *more) as live:
            found = finished(live, "whole", "http://a.example/large", "http://a.example/small")
            whole = found["http://a.example/large"]
            assert (whole.state, whole.length, whole.truncated) == ("ok", LARGE + 19, False)
            assert list(bucket.objects.all()) == []  # each was read and removed

            bucket.delete()  # the store refuses everything now
            found = finished(live, "refused", *(f"http://a.example/{name}" for name in ("large1", "small1", "small2")))
            failed = found["http://a.example/large1"]
            assert (failed.state, failed.reason) == ("failed", "too_large")
            assert {found[f"http://a.example/small{n}"].state for n in (1, 2)} == {"ok"}
            live.api.wait_for(lambda: 'kind="kafka-too-large"' in live.api.get("/metrics").body.decode())
    bucket.create()


@pytest.mark.parametrize("limit", ["settings", "topic"])
async def test_event_that_is_too_large_is_announced_without_its_page(config: Config, limit: str) -> None:
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    size = config.kafka.body_limit + 100_000
    if limit == "topic":  # somebody has made the topic's limit smaller
        size = 300_000
        await asyncio.to_thread(_limit_topic, config, 200_000)
    before = FAULTS.counts().get("kafka-too-large", 0.0)
    await send(config, "large", "small")
    async with pipeline(config, "first") as first:
        entries = await first.opened(2)
        outcomes = []
        for entry in entries:
            outcome = done(entry)
            if entry.message == "large":
                about = PageMetadata(description="x" * size)
                outcome = UrlOutcome(entry=entry, record=replace(outcome.record, metadata=about), rows=())
            outcomes.append(outcome)
        events = await first.outcomes.record("first", outcomes)

    assert all(event is not None for event in events)
    assert sorted(await announced(config, 2)) == ["large", "small"]
    if limit == "settings":
        assert FAULTS.counts().get("kafka-too-large", 0.0) == before + 1


def _limit_topic(config: Config, most: int) -> None:
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        ResourceType,
    )

    change = ConfigEntry("max.message.bytes", str(most), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, TopicNames(config.kafka.prefix).events, incremental_configs=[change])
    admin = admin_client(config.kafka, "test")
    for altered in admin.incremental_alter_configs([topic]).values():
        altered.result(10)
