from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from scoter.config import Setting, Size, load, plugin_settings
from scoter.errors import ConfigError, PluginError


class Settings(msgspec.Struct, frozen=True):
    wait: Annotated[timedelta, Setting("How long.", at_most=timedelta(hours=1))] = timedelta(seconds=1)
    limit: Size | None = None
    words: tuple[str, ...] = ()
    mode: Literal["fast", "slow"] = "fast"
    rules: Path | None = None
    version: str = ""


class Demanding(msgspec.Struct, frozen=True):
    url: str


class Impossible(msgspec.Struct, frozen=True):
    table: dict[str, int] = {}


def test_plugin_without_a_table_gets_its_defaults() -> None:
    assert plugin_settings(load(), "my-filter", Settings) == Settings()


def test_plugin_settings_come_from_file_environment_and_flags(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text('[plugin.my-filter]\nwait = "2m"\nmode = "fast"\nwords = ["a"]\nlimit = "64KiB"\nrules = "r"\n')
    environ = {"SCOTER_PLUGIN__MY_FILTER__MODE": "slow", "SCOTER_PLUGIN__MY_FILTER__WORDS": "b,c"}

    config = load(file, environ, ["plugin.my-filter.limit=1MiB", "plugin.my-filter.version=2.0"])
    settings = plugin_settings(config, "my-filter", Settings)

    assert settings == Settings(
        wait=timedelta(minutes=2),
        limit=Size(2**20),
        words=("b", "c"),
        mode="slow",
        rules=tmp_path / "r",
        version="2.0",
    )


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        (
            "wiat=1",
            "-D plugin.my-filter.wiat: plugin.my-filter.wiat is not a setting; did you mean plugin.my-filter.wait?",
        ),
        (
            "zzz=1",
            (
                "-D plugin.my-filter.zzz: plugin.my-filter.zzz is not a setting; "
                "my-filter has the settings wait, limit, words, mode, rules, version"
            ),
        ),
        (
            "wait=2h",
            (
                "-D plugin.my-filter.wait: plugin.my-filter.wait = 2h is too large; it accepts a duration "
                '(units: ms, s, m, h, d, w; a plain number is seconds) to 1h, such as "1s"'
            ),
        ),
        (
            "mode=fats",
            (
                "-D plugin.my-filter.mode: plugin.my-filter.mode = fats is not a known value "
                '(did you mean "fast"?); it accepts "fast" or "slow"'
            ),
        ),
    ],
)
def test_mistake_in_a_plugin_table_is_reported_with_its_place(flag: str, told: str) -> None:
    config = load(overrides=[f"plugin.my-filter.{flag}"])

    with pytest.raises(ConfigError) as caught:
        plugin_settings(config, "my-filter", Settings)

    assert str(caught.value) == told


def test_setting_without_a_default_must_be_set() -> None:
    with pytest.raises(ConfigError, match=r'^plugin.solr.url must be set; it accepts a string, such as "words"$'):
        plugin_settings(load(), "solr", Demanding)

    assert plugin_settings(load(overrides=["plugin.solr.url=http://x/"]), "solr", Demanding).url == "http://x/"


def test_invalid_settings_struct_is_a_plugin_error() -> None:
    with pytest.raises(PluginError, match="the plug-in odd declares invalid Settings"):
        plugin_settings(load(), "odd", Impossible)


class _Ordered(msgspec.Struct, frozen=True):
    low: int = 1
    high: int = 2

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


def test_error_in_post_init_is_a_config_error() -> None:
    config = load(None, {}, ["plugin.urlfilter-mine.low=3"])

    with pytest.raises(ConfigError, match=r"plugin\.urlfilter-mine: low is above high"):
        plugin_settings(config, "urlfilter-mine", _Ordered)
