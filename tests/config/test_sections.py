"""What holds for every declared setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scoter.config.nutch import import_nutch
from scoter.config.nutch_names import NO_COUNTERPART
from scoter.config.sections import SECTIONS, Config, fields
from scoter.config.settings import Field
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.config.values import accepts, read, write

ALL = list(fields().values())
NUTCH = dict(
    line.split("\t") for line in (Path(__file__).parent / "data" / "nutch-properties.tsv").read_text().splitlines()
)
CUT_SHORT = "?"  # a default too long for the list of properties


@pytest.mark.parametrize("field", ALL, ids=lambda field: field.name)
def test_a_setting_has_one_sentence_and_a_default_that_it_accepts(field: Field) -> None:
    given = GivenValue(field.name, _plain(field), SettingOrigin("file", "x.toml"))

    assert re.fullmatch(r"[A-Z].*[^.]\.", field.setting.doc)
    assert ". " not in field.setting.doc
    assert read(field, given) == field.default


def _plain(field: Field) -> object:
    import tomllib

    return tomllib.loads(f"value = {write(field.type, field.default, field.setting.none)}")["value"]


@pytest.mark.parametrize("field", [field for field in ALL if field.setting.example], ids=lambda field: field.name)
def test_the_example_of_a_setting_is_accepted_by_it(field: Field) -> None:
    import tomllib

    value = tomllib.loads(f"value = {field.setting.example}")["value"]

    read(field, GivenValue(field.name, value, SettingOrigin("file", "x.toml")))

    assert field.setting.example in accepts(field)


def test_every_section_has_a_sentence_and_every_follower_a_leader_of_the_same_default() -> None:
    assert all((struct.__doc__ or "").strip().endswith(".") for struct in SECTIONS.values())
    for field in ALL:
        if field.setting.follows:
            assert fields()[field.setting.follows].default == field.default
        if field.setting.not_above:
            assert fields()[field.setting.not_above].type == field.type


def test_no_nutch_property_means_two_things() -> None:
    names = [name for field in ALL for name in field.setting.nutch]

    assert len(names) == len(set(names))
    assert not set(names) & NO_COUNTERPART.keys()


@pytest.mark.parametrize("name", NUTCH)
def test_a_nutch_property_has_a_counterpart_or_a_reason_for_none(name: str) -> None:
    counterparts = [field.name for field in ALL if name in field.setting.nutch]

    assert len(counterparts) + (name in NO_COUNTERPART) == 1


@pytest.mark.parametrize(
    "field",
    [
        field
        for field in ALL
        if field.setting.nutch
        and NUTCH.get(field.setting.nutch[0], CUT_SHORT) != CUT_SHORT
        and not str(field.type.item).endswith("Path'>")
    ],
    ids=lambda field: field.name,
)
def test_a_default_is_nutchs_default_or_departs_for_a_stated_reason(field: Field) -> None:
    nutch = field.setting.nutch[0]
    xml = f"<configuration><property><name>{nutch}</name><value>{NUTCH[nutch]}</value></property></configuration>"

    imported = import_nutch(xml, "nutch-default.xml")

    assert not imported.untranslated
    [row] = imported.translated
    same = row.value in ("", write(field.type, field.default, field.setting.none))
    assert same is not bool(field.setting.departs)


def test_a_setting_is_found_by_its_full_name() -> None:
    assert Config().value("fetch.threads") == 50
