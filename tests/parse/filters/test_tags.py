from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.language_tags import language_tag, primary


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("en", "en"),
        ("EN-us", "en-US"),
        (" pt_br ", "pt-BR"),
        ("zh-hant-hk", "zh-Hant-HK"),
        ("zh-yue-HK", "zh-HK"),
        ("es-419", "es-419"),
        ("de-CH-1996", "de-CH"),
        ("sl-rozaj-biske", "sl"),
        ("en-u-ca-gregory", "en"),
        ("de-DE-x-goethe", "de-DE"),
        ("ger", "de"),
        ("deu-AT", "de-AT"),
        ("fra", "fr"),
        ("ceb", "ceb"),
        ("iw", "he"),
        ("in_ID", "id-ID"),
        ("en_US.UTF-8", "en-US"),
        ("en;q=0.8", "en"),
        ("de-DE, de-AT", "de-DE"),
        ("en, de", ""),
        ("", ""),
        ("und", ""),
        ("mul", ""),
        ("x-default", ""),
        ("i-klingon", ""),
        ("xx", ""),
        ("jp", ""),
        ("german", "de"),
        ("Swedish", "sv"),
        ("English (United States)", "en"),
        ("gibberish", ""),
        ("{{ lang }}", ""),
        ("-", ""),
    ],
)
def test_a_declared_language_is_kept_in_one_spelling(text: str, tag: str) -> None:
    assert language_tag(text) == tag


@given(st.text() | st.from_regex(r"[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{1,8}){0,4}", fullmatch=True))
def test_a_tag_is_well_formed_and_stays_as_it_is(text: str) -> None:
    tag = language_tag(text)

    assert re.fullmatch(r"([a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?)?", tag)
    assert language_tag(tag) == tag
    assert primary(tag) == tag[: len(primary(tag))]
