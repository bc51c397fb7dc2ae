"""Pages and setups for the tests of parse filters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoter.config import load
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import canonical
from scoter.plugins import Setup

URL = canonical("http://a.example/dir/page.html")


def setup(*overrides: str, settings: Any = None) -> Setup:
    return Setup(load(overrides=list(overrides)), settings)


def content(body: bytes = b"", kind: str = "text/html", headers: Mapping[str, str] | None = None) -> Content:
    return Content(url=URL, media_type=kind, body=body, metadata=headers or {})


def page(**fields: Any) -> Page:
    return Page(url=URL, **fields)


def link(target: str, rel: str = "", kind: str = "a") -> Outlink:
    return Outlink(target=canonical(target), rel=rel, kind=kind)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
