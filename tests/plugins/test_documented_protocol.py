"""The HTTP protocol plug-in in docs/plugins.md, installed as a package and used for a crawl."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fetch.fetchers import Sink, source
from tests.long.batch_truth import settings

from scoter.batch.worker.records import RequestContext, datum_of, encode_context
from scoter.config import Config, load
from scoter.core.reply import Failed, Fetched, Gone, Reason, Request
from scoter.core.url import canonical
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.protocols.dispatch import Protocols
from scoter.plugins import chain, installed
from scoter.simweb import SimServer, WebSpec, running

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    info = tmp_path / "site" / "documented-1.0.dist-info"
    info.mkdir(parents=True)
    code = next(each for each in blocks if "class StandardHttp" in each)
    (tmp_path / "site" / "documented_protocol.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: documented\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[scoter.protocol]\nstandard-http = documented_protocol:StandardHttp\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("documented_protocol", None)


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WebSpec(hosts=3, pages=12, page_bytes=1_000, trap_size=0, latency=0.05)) as server:
        yield server


def config_of(web: SimServer) -> Config:
    return load(overrides=[*settings(web.port), "fetch.protocols=standard-http"])


async def test_documented_protocol_fetches_concurrently_and_obeys_robots(web: SimServer) -> None:
    urls = [fact.url for host in web.web.hosts() for fact in web.web.resources(host)][:30]
    config, sink = config_of(web), Sink()

    last = await Fetcher(config).run(source(urls), sink)

    assert last.done == len(urls)
    assert last.fetched > 0
    assert not [reply for _, reply in sink.got if isinstance(reply, Failed)]
    asked = {f"http://{each.host}{each.path}" for each in web.ledger.requests()}
    denied = {url for url, reply in sink.got if isinstance(reply, Gone) and reply.reason is Reason.ROBOTS_DENIED}
    assert denied
    assert not denied & asked
    bodies = [reply.exchange.body for _, reply in sink.got if isinstance(reply, Fetched)]
    assert all(bodies)


async def test_documented_protocol_sees_the_datum(web: SimServer, monkeypatch: pytest.MonkeyPatch) -> None:
    protocols = Protocols(chain("protocol", config_of(web)), datum_of)
    plugin: Any = protocols._chain[0]
    sent: list[dict[str, str]] = []
    ask = plugin._ask

    def noted(request: Request, headers: dict[str, str]) -> Any:
        sent.append(headers)
        return ask(request, headers)

    monkeypatch.setattr(plugin, "_ask", noted)
    url = canonical(next(iter(web.web.seeds())))
    context = encode_context(RequestContext(metadata={"token": "x1"}))

    replies = await asyncio.gather(protocols(Request(url=url, context=context)), protocols(Request(url=url)))
    await protocols.close()

    assert [isinstance(each, Fetched | Gone) for each in replies] == [True, True]
    assert sorted(each.get("Authorization", "") for each in sent) == ["", "Bearer x1"]


async def test_documented_protocol_refuses_private_addresses(web: SimServer) -> None:
    config = load(overrides=["agent.name=testbot", "fetch.protocols=standard-http"])
    protocols = Protocols(chain("protocol", config))

    reply = await protocols(Request(url=canonical(f"http://127.0.0.1:{web.port}/")))
    await protocols.close()

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.REFUSED_ADDRESS
