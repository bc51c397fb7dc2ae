"""Which undocumented names of uvicorn the protocol relies on, and that the installed version has them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import logging
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from scoter.http.protocol import LimitedProtocol
from scoter.http.uvicorn_names import CYCLE, PROTOCOL, UNFINISHED, HttpToolsProtocol, RequestResponseCycle


def missing(value: object, names: Iterable[str]) -> str:
    lacking = sorted(name for name in names if not hasattr(value, name))
    return f"uvicorn {version('uvicorn')} lacks {type(value).__name__}: {', '.join(lacking)}" if lacking else ""


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Never called."""


async def test_installed_uvicorn_has_the_names_that_are_used() -> None:
    config = uvicorn.Config(_app, ws="none", lifespan="off", log_config=None)
    made = HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    made.on_message_begin()  # sets the attributes of a request
    fields = dict.fromkeys(inspect.signature(RequestResponseCycle).parameters)
    cycle = RequestResponseCycle(**{**fields, "message_event": asyncio.Event(), "logger": logging.getLogger()})  # type: ignore[arg-type]

    assert missing(made, PROTOCOL) == ""
    assert missing(cycle, CYCLE) == ""


def test_installed_uvicorn_logs_an_unfinished_response_in_known_words() -> None:
    assert UNFINISHED in inspect.getsource(RequestResponseCycle), f"uvicorn {version('uvicorn')}"


def test_every_undocumented_name_that_the_protocol_uses_is_listed() -> None:
    tree = ast.parse(inspect.getsource(LimitedProtocol))
    found = [(ast.unparse(each.value), each.attr) for each in ast.walk(tree) if isinstance(each, ast.Attribute)]
    own = vars(LimitedProtocol).keys() | LimitedProtocol.__annotations__.keys()

    assert {name for where, name in found if where in ("self", "super()")} - (own - PROTOCOL) == PROTOCOL
    assert {name for where, name in found if where in ("self._running", "running", "self.cycle")} == CYCLE
