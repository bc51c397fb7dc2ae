"""What holds for every declared setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scoter.config.sections import SECTIONS, Config, fields
from scoter.config.setting_values import accepts, read, write
from scoter.config.settings import Field
from scoter.config.sources import GivenValue, SettingOrigin
from scoter.nutch.settings.names import NO_COUNTERPART
from scoter.nutch.settings.translation import import_nutch

DATA = Path(__file__).parents[1] / "nutch" / "data"
ALL = list(fields().values())
NUTCH = dict(line.split("\t") for line in (DATA / "nutch-properties.tsv").read_text().splitlines())
# Further properties of nutch-default.xml in several versions, most of them of plug-ins.
OTHERS = (DATA / "nutch-other-names.txt").read_text().split()
CUT_SHORT = "?"  # a default too long for the list of properties


@pytest.mark.parametrize("field", ALL, ids=lambda field: field.name)
def test_every_setting_has_a_description_and_a_valid_default(field: Field) -> None:
    given = GivenValue(field.name, _plain(field), SettingOrigin("file", "x.toml"))

    assert re.fullmatch(r"[A-Z].*[^.]\.", field.setting.doc)
    assert ". " not in field.setting.doc
    assert read(field, given) == field.default


def _plain(field: Field) -> object:
    import tomllib

    return tomllib.loads(f"value = {write(field.type, field.default, field.setting.none)}")["value"]


@pytest.mark.parametrize("field", [field for field in ALL if field.setting.example], ids=lambda field: field.name)
def test_every_example_is_valid(field: Field) -> None:
    import tomllib

    value = tomllib.loads(f"value = {field.setting.example}")["value"]

    read(field, GivenValue(field.name, value, SettingOrigin("file", "x.toml")))

    assert field.setting.example in accepts(field)


def test_sections_are_described_and_related_settings_have_one_type() -> None:
    assert all((struct.__doc__ or "").strip().endswith(".") for struct in SECTIONS.values())
    for field in ALL:
        if field.setting.follows:
            assert fields()[field.setting.follows].type == field.type
        if field.setting.not_above:
            assert fields()[field.setting.not_above].type == field.type


def test_nutch_property_maps_to_one_setting() -> None:
    names = [name for field in ALL for name in field.setting.nutch]

    assert len(names) == len(set(names))
    assert not set(names) & NO_COUNTERPART.keys()


@pytest.mark.parametrize("name", NUTCH)
def test_every_nutch_property_has_a_counterpart_or_a_reason(name: str) -> None:
    counterparts = [field.name for field in ALL if name in field.setting.nutch]

    assert len(counterparts) + (name in NO_COUNTERPART) == 1


def test_every_property_of_nutch_is_recognised_by_an_import() -> None:
    names = [*NUTCH, *OTHERS]
    assert len(names) == len(set(names)) >= 322
    items = "".join(f"<property><name>{name}</name><value>1</value></property>" for name in names)

    imported = import_nutch(f"<configuration>{items}</configuration>", "nutch-site.xml")

    unknown = [row.nutch for row in imported.untranslated if row.reason == "unknown Nutch property"]
    assert unknown == []


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
def test_default_that_differs_from_nutch_has_a_reason(field: Field) -> None:
    nutch = field.setting.nutch[0]
    xml = f"<configuration><property><name>{nutch}</name><value>{NUTCH[nutch]}</value></property></configuration>"

    imported = import_nutch(xml, "nutch-default.xml")

    assert not imported.untranslated
    [row] = imported.translated
    same = row.value in ("", write(field.type, field.default, field.setting.none))
    assert same is not bool(field.setting.departs)


def test_setting_is_found_by_its_full_name() -> None:
    assert Config().value("fetch.threads") == 50
