"""Blocks that a host's pages share are left out, but never what a page says itself."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.parse.main.rendering import BASE

from scoter.parse.main import KnownBlocks, block_fingerprints, main_content
from scoter.parse.main.repetition import MOST_PAGES

LEGEND = "This manual describes release four of the pond, which was published in spring and is free to copy."


def page(name: str, text: str = "") -> bytes:
    own = text or f"What only {name} says, in words enough that it is a paragraph of its own. " * 4
    return (
        f"<div><div><b>Pond manual</b></div><div>Search all ponds</div></div><h2>{name}</h2><p>{own}</p>"
        f"<h3>See also</h3><p>{name}-list</p><p>{LEGEND}</p><div>Made by hand</div>"
    ).encode()


KNOWN = KnownBlocks()
for number in range(6):
    KNOWN = KNOWN.add(block_fingerprints(page(f"page{number}")))


def text_of(markup: bytes, known: KnownBlocks | None) -> str:
    return main_content(markup, base=BASE, known=known).text


def test_repeated_blocks_are_left_out_except_a_heading_before_something_new() -> None:
    text = text_of(page("fish"), KNOWN)

    assert text.startswith("fish\n\nWhat only fish says")
    assert text.endswith("See also\n\nfish-list")
    assert "Pond manual" in text_of(page("fish"), None)


def test_two_known_pages_are_too_few() -> None:
    known = KnownBlocks().add(block_fingerprints(page("a"))).add(block_fingerprints(page("b")))

    assert text_of(page("fish"), known) == text_of(page("fish"), None)


def test_a_page_that_says_what_others_say_keeps_its_text() -> None:
    assert LEGEND in text_of(page("fish", "Short."), KNOWN)


def test_fingerprints_come_with_the_main_content() -> None:
    assert main_content(page("fish"), base=BASE).blocks == block_fingerprints(page("fish"))


def test_pages_beyond_the_limit_change_nothing() -> None:
    known = KnownBlocks()
    for number in range(MOST_PAGES):
        known = known.add([number])

    assert known.add([1]) is known


BLOCKS = st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=8), max_size=6)


@settings(max_examples=examples(60), deadline=None)
@given(BLOCKS, BLOCKS)
def test_merging_is_symmetric_and_survives_storage(some: list[list[int]], others: list[list[int]]) -> None:
    first, second = KnownBlocks(), KnownBlocks()
    for blocks in some:
        first = first.add(blocks)
    for blocks in others:
        second = second.add(blocks)

    merged = first.merge(second)
    assert merged == second.merge(first)
    assert KnownBlocks.from_bytes(merged.to_bytes()) == merged
    assert merged.pages == len(some) + len(others)


def test_cells_of_a_data_table_stay_if_one_of_them_is_new() -> None:
    def table(name: str) -> bytes:
        rows = f"<tr><td>Name<td>Kind<tr><td>{name}<td>Fresh water, which is not salty"
        return page(name).replace(b"<h3>", f"<table>{rows}</table><h3>".encode())

    known = KnownBlocks()
    for number in range(6):
        known = known.add(block_fingerprints(table(f"page{number}")))

    assert "Name Kind\nfish Fresh water, which is not salty" in text_of(table("fish"), known)


def test_short_repeated_line_below_the_title_is_left_out() -> None:
    def titled(name: str) -> bytes:
        return page(name).replace(b"<h2>", f"<h1>{name}</h1><div>From the pond</div><h2>".encode())

    known = KnownBlocks()
    for number in range(6):
        known = known.add(block_fingerprints(titled(f"page{number}")))

    assert "From the pond" not in text_of(titled("fish"), known)
