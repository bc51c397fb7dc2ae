"""Every parse filter as the rest of Scoter meets it."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from scoter.config.settings import fields_of
from scoter.plugins import POINTS, Plugin

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
DECLARED = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["entry-points"]["scoter.parsefilter"]
PLUGINS = [
    Plugin(POINTS["parsefilter"], name, EntryPoint(name, value, "scoter.parsefilter"))
    for name, value in DECLARED.items()
]


def test_every_nutch_parse_filter_has_an_equivalent() -> None:
    wanted = {"creativecommons", "headings", "language", "metatags", "naivebayes", "regex", "reltag"}

    assert set(DECLARED) == wanted


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_a_filter_fits_its_point_and_says_in_a_sentence_what_it_does(plugin: Plugin) -> None:
    purpose = plugin.purpose()

    assert purpose.endswith(".")
    assert len(purpose) < 120


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_every_setting_of_a_filter_has_a_sentence(plugin: Plugin) -> None:
    declared = getattr(plugin.load(), "Settings", None)

    if declared is not None:
        assert all(field.setting.doc.endswith(".") for field in fields_of(plugin.full_name, declared))
