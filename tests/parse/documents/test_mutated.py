"""Whatever is done to the bytes of a document, parsers return pages and raise nothing."""

from __future__ import annotations

import io
import random
from functools import cache

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.effort import examples
from tests.parse.documents.made import chain, content, docx, odt, paragraph, pdf, png, pptx, xlsx, zipped

from scoter.config import load
from scoter.parse.chain import ParserChain
from scoter.parse.documents.image import SVG
from scoter.parse.documents.pages import LONGEST_DOUBT, MOST_TEXT, addresses, clean
from scoter.parse.documents.zip import ZIP
from scoter.parse.filetypes import DOCX, PPTX, XLSX
from scoter.parse.parser_process import frame
from scoter.parse.records import Parsed

ODT = "application/vnd.oasis.opendocument.text"


def _picture(form: str) -> bytes:
    target = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "seen"
    Image.new("RGB", (9, 9)).save(target, form, exif=exif)
    return target.getvalue()


@cache
def _sound() -> list[tuple[str, bytes]]:
    word = docx(paragraph("words") * 5, [("x", "hyperlink", "http://l.example/")])
    return [
        ("application/pdf", pdf(["one", "two"], {"Title": "T"}, link="http://l.example/")),
        (DOCX, word),
        (XLSX, xlsx('<row><c t="s"><v>0</v></c></row>', "<si><t>a</t></si>")),
        (PPTX, pptx(["<a:p><a:r><a:t>x</a:t></a:r></a:p>"])),
        (ODT, odt("<text:p>words</text:p>")),
        (ZIP, zipped({"a.txt": "words", "b.docx": word, "c.zip": zipped({"d.txt": "x"})}, stored=True)),
        ("image/png", png(7, 5, (b"tEXt", b"Title\0t"))),
        *((f"image/{form.lower()}", _picture(form)) for form in ("JPEG", "WEBP", "TIFF", "AVIF")),
        (SVG, b'<svg width="1" height="2"><title>t</title><text>x</text></svg>'),
    ]


@cache
def _chain() -> ParserChain:
    return chain(load())


def _mutated(body: bytes, seed: int) -> bytes:
    """Change, remove, repeat or cut some bytes."""
    chance = random.Random(seed)
    found = bytearray(body)
    for _ in range(chance.choice((1, 2, 5, 20))):
        place, length = chance.randrange(len(found) + 1), chance.choice((1, 1, 2, 4, 30))
        match chance.randrange(5):
            case 0:
                found[place : place + length] = chance.randbytes(length)
            case 1:
                del found[place : place + length]
            case 2:
                found[place:place] = found[place : place + length] * chance.choice((1, 3, 50))
            case 3:
                found[place : place + 4] = chance.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
            case _:
                del found[place + len(found) // 2 :]
    return bytes(found)


@settings(max_examples=examples(80), deadline=None)
@given(which=st.integers(0, 11), seed=st.integers(0, 2**32))
def test_mutated_documents_become_pages_or_nothing(which: int, seed: int) -> None:
    kind, body = _sound()[which]

    outcome = _chain().parse(content(_mutated(body, seed), kind))

    if isinstance(outcome, Parsed):
        assert all(len(page.text) <= MOST_TEXT and len(page.doubt) <= LONGEST_DOUBT for page in outcome.pages)
    else:
        assert outcome.reason == "empty", outcome
    assert frame(outcome)  # it can be sent


@settings(max_examples=examples(60), deadline=None)
@given(body=st.binary(max_size=300), which=st.integers(0, 11))
def test_any_bytes_become_pages_or_nothing(body: bytes, which: int) -> None:
    kind, sound = _sound()[which]

    outcome = _chain().parse(content(sound[:16] + body, kind))

    assert isinstance(outcome, Parsed) or outcome.reason == "empty", outcome


def test_the_sound_documents_are_read_without_doubt() -> None:
    for kind, body in _sound():
        outcome = _chain().parse(content(body, kind))

        assert isinstance(outcome, Parsed), kind
        assert outcome.page.doubt == "", kind


@given(st.text(st.characters(), max_size=200))
def test_cleaning_a_text_leaves_one_that_can_be_stored_and_is_clean(text: str) -> None:
    found = clean(text)

    assert clean(found) == found
    assert msgspec.json.encode(found)


@given(st.text("ahtps:/.()[]? \n", max_size=60))
def test_an_address_in_a_text_stands_in_it(text: str) -> None:
    assert all(link.href in text for link in addresses(text))
