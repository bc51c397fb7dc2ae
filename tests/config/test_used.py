"""Every setting has an effect: some code reads it."""

from __future__ import annotations

import re
from pathlib import Path

from scoter.config.sections import fields

CODE = "".join(
    path.read_text("utf-8")
    for path in (Path(__file__).parents[2] / "src" / "scoter").rglob("*.py")
    if "config" not in path.parts
)


def test_every_setting_is_read_somewhere() -> None:
    names = {*re.findall(r"\.(\w+)", CODE), *re.findall(r'"(\w+)(?=")', CODE)}
    # Some names are composed: a rule file for each scope of the regex normaliser, limits for each signal of quality.
    composed = re.compile(r"urlnormalizer\.regex_file_|corpus\.(min|max)_")

    assert [name for name, field in fields().items() if not composed.match(name) and field.key not in names] == []
