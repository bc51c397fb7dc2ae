"""The page about the HTTP API is correct: every route has an example, and every example matches the service."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.live.api.client import Exchanging
from tests.live.api.fakes import Bench

from scoter.live.api.webhooks import signature

PAGE = (Path(__file__).parents[1] / "docs" / "live-api.md").read_text("utf-8")
_FIELD = re.compile(r"([A-Za-z-]+): (.*)")
_ANY = "…"


class Example(msgspec.Struct, frozen=True):
    """A request on the page, and the response that it shows."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: str
    status: int
    answer: str


def examples() -> list[Example]:
    return [_example(block) for block in re.findall(r"^```http\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]


def _example(block: str) -> Example:
    asked, _, answered = block.partition("\n\n")
    first, *lines = asked.splitlines()
    headers = []
    while lines and (field := _FIELD.fullmatch(lines[0])):
        headers.append((field[1], field[2]))
        lines.pop(0)
    method, target = first.split(" ")
    status, _, answer = answered.partition("\n")
    return Example(method, target, headers, "\n".join(lines), int(status), answer)


class Reader:
    """Runs the examples of the page in order, as a reader with a terminal would."""

    def __init__(self, bench: Bench, token: str) -> None:
        self._bench = bench
        self._token = token
        self._made = ""

    async def follow(self, example: Example) -> None:
        if "wait=" in example.target or example.target.startswith("/v1/events"):
            await self._bench.work()
        target = re.sub(r"(?<=/v1/keys/).*", self._made, example.target)
        headers = [(name, value.replace(f"scoter_{_ANY}", self._token)) for name, value in example.headers]
        if example.target.startswith("/v1/events"):
            text = await self._listen(target)
        else:
            sent = [*headers, ("Content-Type", "application/json")] if example.body else headers
            got = await self._bench.client.ask(example.method, target, example.body.encode(), sent)
            assert got.status == example.status, (example, got)
            text = got.body.decode()
        if example.answer.startswith(("{", "[")):
            found = json.loads(text)
            assert differs(json.loads(example.answer), found) == "", (example.method, example.target, text)
            self._made = found.get("id", self._made) if example.target == "/v1/keys" else self._made
        else:
            for line in filter(None, example.answer.splitlines()):
                assert line.partition(_ANY)[0] in text, line

    async def _listen(self, target: str) -> str:
        stream = Exchanging("GET", target, headers=self._bench.client.headers)
        import asyncio

        running = asyncio.create_task(self._bench.app(stream.scope, stream.receive, stream.send))
        await stream.until(b"data: ")
        stream.leave()
        await running
        return stream.text.decode()


def differs(shown: Any, found: Any, where: str = "$") -> str:
    """Return where a response differs from the shape shown, or ""; a number matches any number."""
    if isinstance(shown, dict):
        if not isinstance(found, dict):
            return f"{where} is not an object"
        named = {name: value for name, value in shown.items() if name != _ANY}
        if missing := named.keys() - found.keys():
            return f"{where} lacks {missing}"
        if _ANY not in shown and (more := found.keys() - shown.keys()):
            return f"{where} also has {more}"
        return next(filter(None, (differs(value, found[name], f"{where}.{name}") for name, value in named.items())), "")
    if isinstance(shown, list):
        if not isinstance(found, list) or len(found) != len(shown):
            return f"{where} is not a list of {len(shown)}"
        pairs = enumerate(zip(shown, found, strict=True))
        return next(filter(None, (differs(one, other, f"{where}[{at}]") for at, (one, other) in pairs)), "")
    if isinstance(shown, str) and isinstance(found, str):
        return "" if _ANY in shown or shown == found else f"{where} is {found!r}"
    if isinstance(shown, int | float) and not isinstance(shown, bool):
        return "" if isinstance(found, int | float) and not isinstance(found, bool) else f"{where} is {found!r}"
    return "" if shown == found else f"{where} is {found!r}"


async def test_every_example_on_the_page_matches_the_service() -> None:
    bench = Bench()
    _, token = await bench.stores.keys.create("owner", ["admin"])
    reader = Reader(bench, token)

    for example in examples():
        await reader.follow(example)


def test_every_route_has_an_example() -> None:
    routes = {(method.upper(), path) for path, methods in Bench().document["paths"].items() for method in methods}
    shown = {(each.method, each.target.partition("?")[0]) for each in examples()}

    for method, path in routes:
        pattern = re.compile(re.sub(r"\\\{[a-z]+\\\}", "[^/]+", re.escape(path)))
        assert any(each == method and pattern.fullmatch(target) for each, target in shown), (method, path)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": [1]}, {"a": []}),
        ({"a": "x"}, {"a": "y"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {"a": 0}),
    ],
)
def test_response_of_another_shape_is_detected(shown: object, found: object) -> None:
    assert differs(shown, found)
    assert not differs(shown, shown)


def test_signature_check_on_the_page_rejects_forgeries() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    is_genuine = names["is_genuine"]
    body = b'{"number": 1}'
    header = signature(b"secret", 1_777_636_800, body)

    assert is_genuine(b"secret", header, body, 1_777_636_801.0)
    assert not is_genuine(b"secret", header, body + b" ", 1_777_636_801.0)
    assert not is_genuine(b"other", header, body, 1_777_636_801.0)
    assert not is_genuine(b"secret", header, body, 1_777_637_200.0)
    assert not is_genuine(b"secret", "t=1777636800,v1=é", body, 1_777_636_801.0)
    assert not is_genuine(b"secret", "", body, 1_777_636_801.0)
