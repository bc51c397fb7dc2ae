"""Settings that were renamed still work by their former names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scoter.config import load, load_with_origins
from scoter.config.docs import page
from scoter.config.sections import fields, former_names
from scoter.config.setting_values import write
from scoter.config.show import effective_toml, recorded_toml
from scoter.errors import ConfigError
from scoter.plugins.points import POINTS, Point


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scoter.toml"


def toml(name: str, value: str) -> str:
    section, _, key = name.partition(".")
    return f"[{section}]\n{key} = {value}\n"


def another_value(name: str) -> tuple[str, Any]:
    """Return a value other than the default, as TOML and as it is loaded."""
    field = fields()[name]
    words = ("one", "two") if field.type.many else "one"
    if field.type.item is str:
        return write(field.type, words), words
    if field.type.item is bool:
        return ("true", True)
    return '"40d"', load(overrides=["fetch.max_crawl_delay=40d"]).fetch.max_crawl_delay


def test_former_names_are_not_names_of_other_settings() -> None:
    declared = [former for field in fields().values() for former in field.setting.formerly]

    assert declared
    assert len(declared) == len(set(declared))
    assert not set(declared) & fields().keys()


@pytest.mark.parametrize("former", former_names())
def test_former_name_sets_the_setting_from_every_source(former: str, file: Path) -> None:
    name = former_names()[former]
    text, value = another_value(name)
    file.write_text(toml(former, text))
    variable = f"SCOTER_{former.replace('.', '__').upper()}"

    found = [
        load_with_origins(file),
        load_with_origins(None, {variable: text}),
        load_with_origins(None, {}, [f"{former}={text}"]),
        load_with_origins(crawl=file, trusts_crawl=True),
    ]

    assert [each.config.value(name) for each in found] == [value] * 4
    assert [each.origin(name).kind for each in found] == ["file", "environment", "flag", "crawl"]
    assert [[(renamed.former, renamed.name) for renamed in each.renamed] for each in found] == [[(former, name)]] * 4


@pytest.mark.parametrize(("value", "meant"), [("none", False), ("resiliparse", True), ("trafilatura", True)])
def test_former_values_are_translated(value: str, meant: bool, file: Path) -> None:
    file.write_text(toml("parse.extractor", f'"{value}"'))

    found = [load_with_origins(file), load_with_origins(None, {}, [f"parse.extractor={value}"])]

    assert [each.config.parse.main_text for each in found] == [meant, meant]
    assert [[renamed.name for renamed in each.renamed] for each in found] == [["parse.main_text"]] * 2


def test_present_names_are_not_reported(file: Path) -> None:
    file.write_text(toml("generate.max_interval", '"1d"'))

    assert load_with_origins(file).renamed == ()


def test_both_names_in_one_source_are_an_error(file: Path) -> None:
    file.write_text('[generate]\nmax_interval = "1d"\nmin_interval = "2d"\n')

    with pytest.raises(ConfigError) as caught:
        load(file)
    with pytest.raises(ConfigError, match=r"generate\.min_interval is now generate\.max_interval"):
        load(None, {}, ["generate.min_interval=1d", "generate.max_interval=1d"])

    where = str(file)
    assert str(caught.value) == (
        f"{where}:3: generate.min_interval is now generate.max_interval, and {where}:2 sets generate.max_interval;"
        " remove generate.min_interval"
    )


def test_later_source_overrides_an_earlier_one_by_either_name(file: Path) -> None:
    file.write_text(toml("generate.min_interval", '"1d"'))
    new = load(file, {}, ["generate.max_interval=2d"])
    file.write_text(toml("generate.max_interval", '"1d"'))
    old = load(file, {}, ["generate.min_interval=2d"])

    assert new == old
    assert new.generate.max_interval == load(overrides=["generate.max_interval=2d"]).generate.max_interval


def test_mistake_in_a_value_names_the_setting_and_the_place(file: Path) -> None:
    file.write_text(toml("generate.min_interval", '"soon"'))

    with pytest.raises(ConfigError, match=rf"{re.escape(str(file))}:2: generate\.max_interval = \"soon\""):
        load(file)


def test_settings_are_shown_and_recorded_by_their_present_names(file: Path) -> None:
    file.write_text(toml("urlfilter.order", '["regex"]'))
    loaded = load_with_origins(file)

    assert f'filters = ["regex"]  # {file}:2' in effective_toml(loaded)
    assert recorded_toml(loaded) == '[urlfilter]\nfilters = ["regex"]\n'


def test_ignored_setting_of_a_crawl_is_kept_by_its_present_name(file: Path) -> None:
    file.write_text(toml("urlfilter.order", '["regex"]'))
    loaded = load_with_origins(crawl=file)

    assert [item.name for item in loaded.ignored] == ["urlfilter.filters"]
    assert recorded_toml(loaded) == '[urlfilter]\nfilters = ["regex"]\n'


def test_docs_mention_former_names() -> None:
    assert "Formerly `generate.min_interval`." in page()


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
def test_setting_of_an_extension_point_is_named_after_its_plugins(point: Point) -> None:
    """The plural noun if there may be several, otherwise the singular."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", point.protocol.__name__).lower()
    field = fields()[point.chain]
    noun = field.key.removesuffix("s") if field.type.many else field.key

    assert field.key.endswith("s") == field.type.many
    assert f"_{kind}".endswith(f"_{noun}")
