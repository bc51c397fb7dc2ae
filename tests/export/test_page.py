"""docs/export.md names every field, format and column."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from scoter.config.sections.corpus import CorpusSettings
from scoter.export.corpus.columns import CORPUS
from scoter.export.corpus.quality import STOP_WORDS
from scoter.export.fields import DEFAULT_FIELDS, FIELDS
from scoter.export.registry import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
PROSE = " ".join(PAGE.split())


def names_in(heading: str) -> list[str]:
    """Return the names that begin the rows of the tables, and the items of the lists, below a heading."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0].replace("\n  ", " ")
    section = section.partition("### Columns\n")[2].partition("\n### ")[0] or section
    rows = re.findall(r"^(?:\| (.*?) \||- (`\w+`(?:, `\w+`)*): )", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", "".join(row))]


def test_fields_are_documented() -> None:
    assert sorted(names_in("Fields")) == sorted(FIELDS)
    assert f"The default is {', '.join(f'`{name}`' for name in DEFAULT_FIELDS)}." in PROSE


def test_formats_are_documented() -> None:
    assert set(FORMATS) <= set(names_in("Formats"))


def test_columns_of_the_corpus_are_documented() -> None:
    assert sorted(names_in("Texts for language models")) == sorted(CORPUS.names)
    assert f"stop words applies to {len(STOP_WORDS)} languages" in PROSE


def test_published_thresholds_are_settings() -> None:
    written = tomllib.loads(PAGE.partition("```toml\n[corpus]")[2].partition("```")[0])

    assert len(written) == 12
    assert set(written) <= set(CorpusSettings.__struct_fields__)
