"""The configurable order of sources."""

from __future__ import annotations

import pytest

from scoter.config import load
from scoter.core.metadata import PageMetadata
from scoter.errors import ConfigError
from scoter.parse.metadata.reader import DEFAULT_ORDER, FIELDS, SOURCES, MetadataOptions


def test_every_metadata_field_has_an_order_of_known_sources() -> None:
    assert set(FIELDS) == set(PageMetadata.__struct_fields__) - {"sources"}
    for sources in DEFAULT_ORDER.values():
        assert set(sources) <= set(SOURCES)
        assert len(set(sources)) == len(sources)


def test_configuration_changes_only_the_named_field() -> None:
    options = MetadataOptions.of_lines(["title = html , jsonld"])

    assert options.order == {**DEFAULT_ORDER, "title": ("html", "jsonld")}
    assert MetadataOptions.of_lines(load().parse.metadata_order).order == DEFAULT_ORDER


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["titel=html"], "'titel=html' does not name a metadata field"),
        (["title"], "'title' does not name a metadata field"),
        (["title=html,facebook"], "'facebook' is not a metadata source"),
        (["title=html", "title=jsonld"], "title is listed twice"),
        (["sources=html"], "'sources=html' does not name a metadata field"),
    ],
)
def test_invalid_order_is_rejected_with_all_fields_and_sources(lines: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MetadataOptions.of_lines(lines)

    message = str(caught.value)
    assert said in message
    assert message.startswith("parse.metadata_order: ")
    assert all(name in message for name in (*FIELDS, *SOURCES))
