from __future__ import annotations

import pytest

from scoter.config import load
from scoter.core.url import canonical
from scoter.plugins import chain

URL = canonical("http://example.com/")
OTHER = canonical("http://example.com/other")


@pytest.mark.parametrize(
    ("name", "size", "same_text", "same_words"),
    [
        ("md5", 16, False, False),
        ("text-md5", 16, True, False),
        ("text-profile", 16, True, True),
        ("simhash", 8, True, False),
    ],
)
def test_signature_is_chosen_by_name(name: str, size: int, same_text: bool, same_words: bool) -> None:
    ((_, made),) = chain("signature", load(overrides=[f"db.signature={name}"]))

    first = made.sign(URL, b"<p>one two three four</p>", "one two three four")

    assert len(first) == size
    assert (first == made.sign(OTHER, b"<b>one two three four</b>", "one two three four")) is same_text
    assert (first == made.sign(OTHER, b"<p>four, three, two, one</p>", "four, three, two, one")) is same_words


@pytest.mark.parametrize("name", ["md5", "text-md5", "text-profile", "simhash"])
def test_empty_pages_have_different_signatures(name: str) -> None:
    ((_, made),) = chain("signature", load(overrides=[f"db.signature={name}"]))

    assert made.sign(URL, b"", "") != made.sign(OTHER, b"", "")
    assert made.sign(URL, b"<i/>", " ") != made.sign(URL, b"<b/>", " ")
    assert made.sign(URL, b"1", "!!! ???") != made.sign(URL, b"2", "... ---")


def test_text_profile_uses_the_settings() -> None:
    overrides = ["db.signature=text-profile", "db.signature_text_profile_min_token_len=4"]
    ((_, made),) = chain("signature", load(overrides=overrides))

    assert made.sign(URL, b"1", "harbour one") == made.sign(URL, b"2", "harbour two")
