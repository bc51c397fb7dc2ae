from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from scoter.parse.documents.image_size import image_size

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "AVIF")


def drawn(kind: str, width: int, height: int, **options: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), (10, 200, 30)).save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("width", "height"), [(1, 1), (640, 480), (37, 1201)])
def test_size_is_in_the_first_bytes(kind: str, width: int, height: int) -> None:
    whole = drawn(kind, width, height)

    assert image_size(whole[:2048]) == (f"image/{kind.lower()}", width, height)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exif": b"Exif\0\0" + bytes(90)}])
def test_all_kinds_of_webp_are_read(options: dict[str, object]) -> None:
    assert image_size(drawn("WEBP", 300, 200, **options)) == ("image/webp", 300, 200)


@pytest.mark.parametrize("options", [{"progressive": True}, {"exif": b"Exif\0\0" + bytes(20_000)}])
def test_jpeg_frames_are_found_behind_other_segments(options: dict[str, object]) -> None:
    assert image_size(drawn("JPEG", 300, 200, **options)) == ("image/jpeg", 300, 200)


def test_jpeg_fill_bytes_are_skipped() -> None:
    whole = drawn("JPEG", 30, 20)

    assert image_size(whole[:2] + b"\xff" * 9 + whole[2:]) == ("image/jpeg", 30, 20)


def test_bitmaps_may_be_stored_top_down_or_have_the_older_header() -> None:
    assert image_size(b"BM" + bytes(12) + struct.pack("<Iii", 40, 30, -20)) == ("image/bmp", 30, 20)
    assert image_size(b"BM" + bytes(12) + struct.pack("<IHH", 12, 30, 20)) == ("image/bmp", 30, 20)


@pytest.mark.parametrize("kind", FORMATS)
@given(length=st.integers(0, 400))
def test_truncated_image_has_its_size_or_none(kind: str, length: int) -> None:
    assert image_size(drawn(kind, 40, 30)[:length]) in (None, (f"image/{kind.lower()}", 40, 30))


@given(st.sampled_from([drawn(kind, 9, 9)[:30] for kind in FORMATS]), st.binary(max_size=300))
def test_damaged_image_is_no_error(start: bytes, rest: bytes) -> None:
    found = image_size(start[: len(rest) % 31] + rest)

    assert found is None or min(found[1:]) > 0


def test_other_content_has_no_size() -> None:
    assert image_size(b"<html>") is None
    assert image_size(b"") is None
