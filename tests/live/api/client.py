"""An ASGI client for an application in this process; it checks every response against the OpenAPI document."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from scoter.http.asgi import App

jsonschema: Any = importlib.import_module("jsonschema")  # has no type annotations
Headers = Sequence[tuple[str, str]]


class Got(Struct, frozen=True, kw_only=True):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Sends requests to an application; ``document`` is the OpenAPI document that responses must match."""

    def __init__(self, app: App, document: dict[str, Any] | None = None, headers: Headers = ()) -> None:
        self.app = app
        self.headers = tuple(headers)
        self._document = document

    async def get(self, target: str, *headers: tuple[str, str]) -> Got:
        return await self.ask("GET", target, headers=headers)

    async def post(self, target: str, body: object, *headers: tuple[str, str]) -> Got:
        return await self.ask(
            "POST", target, json.dumps(body).encode(), (("Content-Type", "application/json"), *headers)
        )

    async def put(self, target: str, body: object) -> Got:
        return await self.ask("PUT", target, json.dumps(body).encode(), (("Content-Type", "application/json"),))

    async def ask(self, method: str, target: str, body: bytes | Sequence[bytes] = b"", headers: Headers = ()) -> Got:
        """Make a request; the body may be sent in parts."""
        exchange = Exchanging(method, target, body, (*self.headers, *headers))
        await self.app(exchange.scope, exchange.receive, exchange.send)
        got = exchange.got()
        if self._document is not None:
            check(self._document, method, target.partition("?")[0], got)
        return got


class Exchanging:
    """One request in progress: for streams, which do not end by themselves."""

    def __init__(self, method: str, target: str, body: bytes | Sequence[bytes] = b"", headers: Headers = ()) -> None:
        path, _, query = target.partition("?")
        self.scope: MutableMapping[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        }
        self._parts = [body] if isinstance(body, bytes) else list(body)
        self._left = asyncio.Event()
        self._said: asyncio.Event = asyncio.Event()
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.status = 0
        self.sent: list[tuple[bytes, bytes]] = []
        self.text = b""
        self.is_whole = False

    def leave(self) -> None:
        """Disconnect the client."""
        self._left.set()

    async def receive(self) -> MutableMapping[str, Any]:
        if self._parts:
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.may_send.wait()
        if message["type"] == "http.response.start":
            assert not self.status
            self.status, self.sent = message["status"], list(message["headers"])
            assert not any(c in name + value for name, value in self.sent for c in b"\r\n\0")
        else:
            assert not self.is_whole
            self.text += message.get("body", b"")
            self.is_whole = not message.get("more_body", False)
        self._said.set()

    async def until(self, text: bytes) -> bytes:
        """Wait until the response contains a text; return everything received."""
        async with asyncio.timeout(5):
            while text not in self.text:
                self._said.clear()
                await self._said.wait()
        return self.text

    def got(self) -> Got:
        assert self.is_whole, "the answer was not finished"
        headers = {name.decode(): value.decode("latin-1") for name, value in self.sent}
        assert int(headers.get("content-length", len(self.text))) == len(self.text)
        return Got(status=self.status, headers=headers, body=self.text)


def check(document: dict[str, Any], method: str, path: str, got: Got) -> None:
    """Fail if a response does not match the OpenAPI document for its path, method and status."""
    operation = _operation(document, method, path)
    if operation is None:  # a path or method that the document does not have
        assert got.status in (404, 405), got
        schema = {"$ref": "#/components/schemas/Problem"}
        media_type = "application/problem+json"
    else:
        told = operation["responses"].get(str(got.status))
        assert told is not None, f"{method} {path} answers {got.status}, of which the document says nothing: {got}"
        if "content" not in told:
            assert (got.body, got.headers.get("content-type")) == (b"", None)
            return
        media_type = got.headers["content-type"].partition(";")[0]
        assert media_type in told["content"], got
        schema = told["content"][media_type]["schema"]
    assert got.headers["content-type"].partition(";")[0] == media_type, got
    if media_type.endswith("json"):
        _validator(json.dumps(schema), json.dumps(document["components"])).validate(got.json)
    if got.status in (429, 503):
        assert int(got.headers["retry-after"]) >= 1


@lru_cache(maxsize=200)
def _validator(schema: str, components: str) -> Any:
    return jsonschema.Draft202012Validator({**json.loads(schema), "components": json.loads(components)})


def _operation(document: dict[str, Any], method: str, path: str) -> dict[str, Any] | None:
    if path not in document["paths"]:
        path = next((each for each in document["paths"] if _fits(each, path)), path)
    found = document["paths"].get(path, {})
    operation: dict[str, Any] | None = found.get(method.lower())
    return operation


def _fits(pattern: str, path: str) -> bool:
    wanted, parts = pattern.split("/"), path.split("/")
    return len(wanted) == len(parts) and all(
        each.startswith("{") or each == part for each, part in zip(wanted, parts, strict=True)
    )
