"""The built-in exemption."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoter.builtin.exemptions import IgnoreExemptUrlExemption
from scoter.config import Config, load
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.plugins import Setup


def test_it_reads_the_file_its_setting_names(tmp_path: Path) -> None:
    file = tmp_path / "exemptions.txt"
    file.write_text("+[.]png$\n+(a)\\1\n", encoding="utf-8")
    made = IgnoreExemptUrlExemption(Setup(load(overrides=[f"db.ignore_external_exemptions_file={file}"])))
    page, picture = canonical("http://a.example/"), canonical("http://b.example/x.png")

    assert made.exempts(page, picture)
    assert not made.exempts(picture, page)
    assert made.explain(picture) == "line 1: +[.]png$"
    assert len(made.warnings) == 1


def test_it_names_the_setting_that_is_empty() -> None:
    with pytest.raises(ConfigError, match=r"^db\.ignore_external_exemptions_file: is empty"):
        IgnoreExemptUrlExemption(Setup(Config()))
