"""Content codings: round trips, damage, and decompression bombs."""

from __future__ import annotations

import gzip
import resource
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.core.reply import Truncation
from scoter.fetch.decode import CEILING, MAX_LAYERS, DecodedBody, content_codings, decode

MIB = 2**20
TEXT = b"".join(b"<p>paragraph %d of a page about %d things</p>\n" % (n * n, n) for n in range(3_000))


def bare(data: bytes) -> bytes:
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(data) + coder.flush()


def brotlied(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotlied,
    "zstd": zstandard.compress,
}
each_coding = pytest.mark.parametrize("coding", CODERS)


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """Fail if Python's allocations, or the process as a whole, grow by more than this."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    # The libraries' own memory is not traced; the high-water mark of the process knows of it.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < most + 16 * MIB


@cache
def bomb(coding: str, window_log: int = 0) -> bytes:
    """Return a gibibyte of zeros, coded a mebibyte at a time."""
    zeros = bytes(MIB)
    if coding == "gzip":
        coder = zlib.compressobj(9, wbits=-15)
        block = coder.compress(zeros) + coder.flush(zlib.Z_FULL_FLUSH)  # which can be repeated as it is
        return gzip.compress(b"")[:10] + block * 1_024 + coder.flush() + bytes(8)
    if coding == "br":
        brotli_coder = brotli.Compressor(quality=1)
        return b"".join(brotli_coder.process(zeros) for _ in range(1_024)) + bytes(brotli_coder.finish())
    parameters = zstandard.ZstdCompressionParameters(compression_level=1, window_log=window_log)
    zstd_coder = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return b"".join(zstd_coder.compress(zeros) for _ in range(1_024)) + zstd_coder.flush()


@each_coding
@settings(max_examples=examples(30))
@given(data=st.binary(max_size=2_000), times=st.sampled_from([1, 7, 400]))
def test_encoded_body_is_decoded(coding: str, data: bytes, times: int) -> None:
    assert decode(CODERS[coding](data * times), [coding], MIB) == DecodedBody((data * times)[:MIB])


@pytest.mark.parametrize("codings", list(product(CODERS, repeat=2)), ids="+".join)
def test_codings_are_undone_from_the_last_to_the_first(codings: tuple[str, str]) -> None:
    first, second = codings

    assert decode(CODERS[second](CODERS[first](TEXT)), codings, None) == DecodedBody(TEXT)


def test_deflate_is_read_with_and_without_its_wrapper() -> None:
    assert decode(bare(TEXT), ["deflate"], None) == DecodedBody(TEXT)
    assert decode(zlib.compress(TEXT), ["deflate"], None) == DecodedBody(TEXT)


@given(st.binary(min_size=1, max_size=300))
def test_bare_deflate_that_looks_like_zlib_is_still_read(data: bytes) -> None:
    assert decode(bare(data), ["deflate"], None).body == data


def test_gzip_and_zstd_may_come_in_several_parts() -> None:
    parts = [TEXT[:1_000], b"", TEXT[1_000:]]

    assert decode(b"".join(map(gzip.compress, parts)), ["gzip"], None) == DecodedBody(TEXT)
    assert decode(b"".join(map(zstandard.compress, parts)), ["zstd"], None) == DecodedBody(TEXT)


@pytest.mark.parametrize(("extra", "cut"), [(-1, Truncation.LENGTH), (0, Truncation.NOT), (1, Truncation.NOT)])
@each_coding
def test_limit_truncates_exactly_and_only_longer_bodies(coding: str, extra: int, cut: Truncation) -> None:
    limit = len(TEXT) + extra

    assert decode(CODERS[coding](TEXT), [coding], limit) == DecodedBody(TEXT[:limit], cut)
    assert decode(CODERS[coding](TEXT), [coding], 0) == DecodedBody(b"", Truncation.LENGTH)


def test_uncoded_body_is_truncated_too() -> None:
    assert decode(TEXT, [], 10) == DecodedBody(TEXT[:10], Truncation.LENGTH)
    assert decode(TEXT, ["identity"], None) == DecodedBody(TEXT)


@each_coding
def test_an_empty_body_has_nothing_to_decode(coding: str) -> None:
    assert decode(b"", [coding], None) == DecodedBody(b"")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_truncated_body_keeps_what_was_received(coding: str) -> None:
    coded = CODERS[coding](TEXT)

    result = decode(coded[: len(coded) // 2], [coding], None)

    assert result.problem == f"{coding}: ends early"
    assert TEXT.startswith(result.body)
    assert len(result.body) > len(TEXT) // 4


def test_zstd_that_ends_early_keeps_its_whole_blocks() -> None:
    noise = bytes(n * n * 7 % 251 for n in range(300_000))
    coder = zstandard.ZstdCompressor().compressobj()
    coded = coder.compress(noise) + coder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    coded += coder.compress(TEXT) + coder.flush()

    result = decode(coded[:-1], ["zstd"], None)

    assert result.problem == "zstd: ends early"
    assert (noise + TEXT).startswith(result.body)
    assert len(result.body) >= len(noise)


@each_coding
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_a_damaged_body_never_raises_and_never_exceeds_the_limit(coding: str, data: st.DataObject) -> None:
    coded = bytearray(CODERS[coding](TEXT[:20_000]))
    for _ in range(data.draw(st.integers(1, 3))):
        coded[data.draw(st.integers(0, len(coded) - 1))] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.integers(0, len(coded)))

    result = decode(bytes(coded[:end]), [coding], 15_000)

    assert len(result.body) <= 15_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_all_that_was_decoded_before_the_damage_is_kept(coding: str) -> None:
    coded = CODERS[coding](TEXT)
    middle = len(coded) // 2
    sound = decode(coded[:middle], [coding], None).body

    result = decode(coded[:middle] + b"\xff" * 2_000, [coding], None)

    assert result.problem
    assert result.body.startswith(sound)


@each_coding
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_damaged_or_short_body_counts_as_truncated(coding: str, kept: float) -> None:
    coded = CODERS[coding](TEXT)
    at = int(len(coded) * kept)

    for damaged in (coded[:at], coded[:at] + b"\xff" * 2_000):
        assert decode(damaged, [coding], None).truncation is Truncation.UNSPECIFIED


@each_coding
def test_binary_data_that_is_not_in_its_coding_counts_as_truncated(coding: str) -> None:
    result = decode(b"\xff\xfe\x00" * 500, [coding], None)

    assert (result.truncation, result.problem != "") == (Truncation.UNSPECIFIED, True)


def test_wrong_checksum_loses_no_bytes() -> None:
    coded = bytearray(gzip.compress(TEXT))
    coded[-8] ^= 0xFF

    result = decode(bytes(coded), ["gzip"], None)

    assert result.body == TEXT
    assert "checksum" in result.problem


@each_coding
def test_trailing_data_is_reported_and_dropped(coding: str) -> None:
    result = decode(CODERS[coding](TEXT) + b"<!-- late -->", [coding], None)

    assert result.body == TEXT
    assert result.problem


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_zeros_after_the_end_are_padding(coding: str) -> None:
    assert decode(CODERS[coding](TEXT) + bytes(100), [coding], None) == DecodedBody(TEXT)


@pytest.mark.parametrize("coding", [*CODERS, "utf-8", "compress", "x" * 1_000])
def test_body_not_in_its_coding_is_returned_unchanged(coding: str) -> None:
    page = b"<html>plain, whatever the header says</html>"

    result = decode(page, [coding], None)

    assert result.body == page
    assert result.problem.startswith("not decoded: ")
    assert len(result.problem) < 150


@pytest.mark.parametrize("text", [b"h", b"ok", b"<html>", b"hello wor", b"hello world"])
def test_short_text_labelled_gzip_is_returned_unchanged(text: bytes) -> None:
    result = decode(text, ["gzip"], None)

    assert (result.body, result.truncation) == (text, Truncation.NOT)
    assert result.problem.startswith("not decoded: not gzip data")


def test_damage_right_at_the_start_is_not_taken_for_a_page() -> None:
    result = decode(gzip.compress(TEXT)[:10] + b"\xff" * 100, ["gzip"], None)

    assert result.body == b""
    assert result.problem.startswith("gzip: ")


def test_an_unknown_coding_under_a_known_one_is_where_decoding_ends() -> None:
    result = decode(gzip.compress(TEXT), ["rot13", "gzip"], None)

    assert result == DecodedBody(TEXT, problem="not decoded: unknown content coding 'rot13'")


def test_only_so_many_codings_may_be_stacked() -> None:
    body = TEXT
    for _ in range(MAX_LAYERS):
        body = gzip.compress(body)

    assert decode(body, ["gzip"] * MAX_LAYERS, None) == DecodedBody(TEXT)
    assert decode(body, ["gzip"] * (MAX_LAYERS + 1), None).problem == "not decoded: more than 5 content codings"


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_bomb_ends_at_the_limit_with_flat_memory(coding: str) -> None:
    coded = bomb(coding)

    with memory_below(8 * MIB):
        result = decode(coded, [coding], MIB)

    assert result == DecodedBody(bytes(MIB), Truncation.LENGTH)


def test_a_bomb_inside_a_bomb_ends_at_the_limit_too() -> None:
    coded = gzip.compress(bomb("gzip"))

    with memory_below(8 * MIB):
        result = decode(coded, ["gzip", "gzip"], MIB)

    assert result.body == bytes(MIB)
    assert result.truncation is Truncation.LENGTH


def test_a_layer_that_grows_without_giving_anything_ends_at_the_limit() -> None:
    empty_members = gzip.compress(gzip.compress(b"") * 1_000_000)

    with memory_below(8 * MIB):
        result = decode(empty_members, ["gzip", "gzip"], MIB)

    assert result == DecodedBody(b"", Truncation.LENGTH, "gzip: more than 1000 members")


def test_a_huge_window_is_refused_before_it_is_allocated() -> None:
    coded = bomb("zstd", window_log=27)

    with memory_below(4 * MIB):
        result = decode(coded, ["zstd"], MIB)

    assert result.body == b""
    assert "too much memory" in result.problem


def test_a_limit_that_is_off_still_has_a_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CEILING == 256 * MIB
    monkeypatch.setattr("scoter.fetch.decode.CEILING", 3 * MIB)

    assert decode(bomb("gzip"), ["gzip"], None) == DecodedBody(bytes(3 * MIB), Truncation.LENGTH)


@pytest.mark.parametrize(
    ("fields", "codings"),
    [
        ([], ()),
        ([("Content-Encoding", "gzip")], ("gzip",)),
        ([("content-encoding", " GZip ,, br\t,")], ("gzip", "br")),
        ([("Content-Encoding", "br"), ("X-Other", "y"), ("CONTENT-ENCODING", "x-gzip")], ("br", "gzip")),
        ([("Content-Encoding", "identity, zstd, identity")], ("zstd",)),
        ([("Content-Encoding", "")], ()),
        ([("Content-Encoding", "rot13")], ("rot13",)),
    ],
)
def test_the_field_names_codings_in_the_order_of_their_application(
    fields: list[tuple[str, str]], codings: tuple[str, ...]
) -> None:
    assert content_codings(fields) == codings


def test_damage_far_behind_the_limit_is_not_looked_for() -> None:
    packer = brotli.Compressor(quality=5, lgwin=24)  # its reader unpacks a whole window before it gives any of it
    body = packer.process(bytes(15 * 2**20)) + packer.flush() + b"\xff" * 300

    decoded = decode(body, ["br"], 2**20)

    assert (len(decoded.body), decoded.truncation, decoded.problem) == (2**20, Truncation.LENGTH, "")
