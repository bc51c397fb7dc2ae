"""Formats that kreuzberg reads; without the extra there is a clear message."""

from __future__ import annotations

import random
import sys
from importlib.util import find_spec

import pytest
from tests.parse.documents.made import content, parsed, read
from tests.parse.documents.old_office import doc, ppt, xls

from scoter.config import load
from scoter.errors import PluginError
from scoter.extras import install_command
from scoter.parse.content_parser import ContentParser, Parsed, ParseFailed
from scoter.parse.documents.office import OfficeParser
from scoter.parse.documents.other_formats import OtherFormatsParser
from scoter.plugins import Setup

needs_kreuzberg = pytest.mark.skipif(find_spec("kreuzberg") is None, reason="needs the extra documents")


def test_each_format_has_one_reader() -> None:
    assert set(OtherFormatsParser.media_types) & set(OfficeParser.media_types) == set()


@needs_kreuzberg
def test_rich_text_is_read_with_its_title() -> None:
    body = rb"{\rtf1\ansi{\info{\title A title}{\author Ann}}Hello \b world\b0\par Second}"

    page = read(OtherFormatsParser, body, "application/rtf")

    assert page.title == "A title"
    assert page.text == "Hello world\n\nSecond"
    assert page.about is not None
    assert [author.name for author in page.about.authors] == ["Ann"]


OLD_OFFICE = {
    "application/msword": doc("Grey seals live here.\rSee http://seals.example/ now.\r"),
    "application/vnd.ms-excel": xls("Seals", {(0, 0): "Name", (0, 1): "kg", (1, 0): "Grey seal", (1, 1): 233.5}),
    "application/vnd.ms-powerpoint": ppt("Grey seals", "They eat sand eels"),
}


@needs_kreuzberg
@pytest.mark.parametrize(
    ("media_type", "text", "links"),
    [
        (
            "application/msword",
            "Grey seals live here.\nSee http://seals.example/ now.",
            ["http://seals.example/"],
        ),
        ("application/vnd.ms-excel", "Seals\n\nName kg\nGrey seal 233.5", []),
        ("application/vnd.ms-powerpoint", "Grey seals\n\nThey eat sand eels", []),
    ],
)
def test_old_office_files_are_read(media_type: str, text: str, links: list[str]) -> None:
    page = read(OtherFormatsParser, OLD_OFFICE[media_type], media_type)

    assert (page.text, page.doubt) == (text, "")
    assert [link.target.text for link in page.outlinks] == links


@needs_kreuzberg
@pytest.mark.slow
def test_damaged_old_office_files_neither_hang_nor_stop_the_parser() -> None:
    chance = random.Random(7)

    with ContentParser(load(overrides=["parse.parsers=wide", "parse.timeout=10s"])) as parser:
        for media_type, sound in {**OLD_OFFICE, "application/rtf": rb"{\rtf1 {\b seals}\u8364?\par}"}.items():
            for _ in range(60):
                body = bytearray(sound)
                for _ in range(chance.choice((1, 5, 50))):
                    body[chance.randrange(len(body))] = chance.randrange(256)
                outcome = parser.parse(content(bytes(body[: chance.randrange(len(body)) + 1]), media_type))
                assert isinstance(outcome, Parsed) or outcome.reason in ("empty", "crash", "memory")
            assert isinstance(parser.parse(content(sound, media_type)), Parsed)


def test_failure_names_the_parser_and_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    old = content(OLD_OFFICE["application/msword"], "application/msword")

    with ContentParser(load()) as parser:
        told = parser.parse(old)
    monkeypatch.setattr("scoter.parse.chain.find_spec", lambda name: None)
    with ContentParser(load()) as parser:
        without_package = parser.parse(old)
        unknown = parser.parse(content(b"x", "model/gltf"))

    if find_spec("kreuzberg") is not None:
        hint = "application/msword; to read it: add 'wide' to parse.parsers"
        assert told == ParseFailed("no_parser", hint)
    assert without_package == ParseFailed(
        "no_parser", "application/msword; to read it: install the extra 'documents' and add 'wide' to parse.parsers"
    )
    assert unknown == ParseFailed("no_parser", "model/gltf")


@needs_kreuzberg
def test_links_are_taken_from_what_it_finds() -> None:
    page = read(OtherFormatsParser, b"# T\n\n[x y](http://b.example/) ![i](/p.png)", "text/markdown")

    assert [(link.target.text, link.anchor, link.kind) for link in page.outlinks] == [
        ("http://b.example/", "x y", "a"),
        ("http://a.example/p.png", "i", "img"),
    ]


@needs_kreuzberg
def test_a_damaged_document_is_a_doubted_page() -> None:
    page = read(OtherFormatsParser, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "application/msword")

    assert page.doubt.startswith("damaged")


@needs_kreuzberg
def test_empty_document_yields_no_page() -> None:
    assert parsed(OtherFormatsParser, b"") == ()
    assert parsed(OtherFormatsParser, rb"{\rtf1 }", "application/rtf") == ()


@needs_kreuzberg
def test_every_type_that_is_named_is_one_that_it_reads() -> None:
    import kreuzberg

    for kind in OtherFormatsParser.media_types:
        kreuzberg.validate_mime_type(kind)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.parse.documents.other_formats.find_spec", lambda name: None)

    with pytest.raises(PluginError) as raised:
        OtherFormatsParser(Setup(load()))

    assert install_command("documents") in str(raised.value)


def test_making_the_parser_imports_nothing_heavy() -> None:
    import subprocess

    script = (
        "import sys; from tests.parse.documents.made import chain; chain(); "
        "print([n for n in ('kreuzberg', 'pypdfium2', 'PIL', 'lxml') if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
