"""Formats that kreuzberg reads; without the extra there is a clear message."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest
from tests.parse.documents.made import parsed, read

from scoter.config import load
from scoter.errors import PluginError
from scoter.parse.documents.wide import WideParser
from scoter.plugins import Setup

needs_kreuzberg = pytest.mark.skipif(find_spec("kreuzberg") is None, reason="needs the extra documents")


@needs_kreuzberg
def test_rich_text_is_read_with_its_title() -> None:
    body = rb"{\rtf1\ansi{\info{\title A title}{\author Ann}}Hello \b world\b0\par Second}"

    page = read(WideParser, body, "application/rtf")

    assert page.title == "A title"
    assert page.text == "Hello world\n\nSecond"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann"]


@needs_kreuzberg
def test_links_are_taken_from_what_it_finds() -> None:
    page = read(WideParser, b"# T\n\n[x y](http://b.example/) ![i](/p.png)", "text/markdown")

    assert [(link.target.text, link.anchor, link.kind) for link in page.outlinks] == [
        ("http://b.example/", "x y", "a"),
        ("http://a.example/p.png", "i", "img"),
    ]


@needs_kreuzberg
def test_a_damaged_document_is_a_doubted_page() -> None:
    page = read(WideParser, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "application/msword")

    assert page.doubt.startswith("damaged")


@needs_kreuzberg
def test_empty_document_yields_no_page() -> None:
    assert parsed(WideParser, b"") == ()
    assert parsed(WideParser, rb"{\rtf1 }", "application/rtf") == ()


@needs_kreuzberg
def test_every_type_that_is_named_is_one_that_it_reads() -> None:
    import kreuzberg

    for kind in WideParser.media_types:
        kreuzberg.validate_mime_type(kind)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.parse.documents.wide.find_spec", lambda name: None)

    with pytest.raises(PluginError) as raised:
        WideParser(Setup(load()))

    assert "pip install 'scoter[documents]'" in str(raised.value)


def test_making_the_parser_imports_nothing_heavy() -> None:
    import subprocess

    script = (
        "import sys; from tests.parse.documents.made import chain; chain(); "
        "print([n for n in ('kreuzberg', 'pypdfium2', 'PIL', 'lxml') if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
