"""Object stores for tests, each behind a proxy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.stores.proxy import StoreProxy, proxied
from tests.stores.servers import BUCKET, SERVERS, environment, server_port

from scoter.store.objects import registry

NAMES = itertools.count(1)


@pytest.fixture(params=SERVERS)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreProxy]:
    """A proxy in front of an S3 server, which this process and those it starts use."""
    import s3fs

    with proxied(server_port(request.param)) as proxy:
        for name, value in environment(proxy.url).items():
            monkeypatch.setenv(name, value)
        registry._clients.clear()
        s3fs.S3FileSystem.clear_instance_cache()
        yield proxy
        registry._clients.clear()
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def url(store: StoreProxy, request: pytest.FixtureRequest) -> str:
    """A URL under which there is nothing yet."""
    return f"s3://{BUCKET}/{request.node.name.partition('[')[0]}-{next(NAMES)}"
