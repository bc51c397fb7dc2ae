"""The order of sources, as the configuration changes it."""

from __future__ import annotations

import pytest

from scoter.config import load
from scoter.core.metadata import PageMetadata
from scoter.errors import ConfigError
from scoter.parse.metadata.reader import DEFAULT_ORDER, FIELDS, SOURCES, MetadataOptions


def test_every_field_of_the_record_has_an_order_of_known_sources() -> None:
    assert set(FIELDS) == set(PageMetadata.__struct_fields__) - {"sources"}
    for sources in DEFAULT_ORDER.values():
        assert set(sources) <= set(SOURCES)
        assert len(set(sources)) == len(sources)


def test_the_configuration_changes_one_field_and_leaves_the_others() -> None:
    options = MetadataOptions.of_lines(["title = html , jsonld"])

    assert options.order == {**DEFAULT_ORDER, "title": ("html", "jsonld")}
    assert MetadataOptions.of(load()).order == DEFAULT_ORDER


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["titel=html"], "'titel=html' names no field"),
        (["title"], "'title' names no field"),
        (["title=html,facebook"], "the source 'facebook', which there is not"),
        (["title=html", "title=jsonld"], "title has two orders"),
        (["sources=html"], "'sources=html' names no field"),
    ],
)
def test_a_mistake_is_told_with_all_fields_and_sources(lines: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MetadataOptions.of_lines(lines)

    message = str(caught.value)
    assert said in message
    assert message.startswith("parse.metadata_order: ")
    assert all(name in message for name in (*FIELDS, *SOURCES))
