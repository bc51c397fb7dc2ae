"""Opening the configured engine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scoter.config import Config
from scoter.engine import factory, open_engine
from scoter.errors import ConfigError


def _config(kind: str) -> Config:
    return msgspec.structs.replace(Config(), engine=msgspec.structs.replace(Config().engine, kind=kind))


def test_configured_engine_is_opened(tmp_path: Path) -> None:
    with open_engine(_config("duckdb"), tmp_path) as engine:
        assert engine.name == "duckdb"
        assert len(list(tmp_path.iterdir())) == 1

    assert list(tmp_path.iterdir()) == []


def test_unknown_engine_suggests_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'duckbd' is not an engine; did you mean 'duckdb'") as told:
        open_engine(_config("duckbd"), tmp_path)

    assert told.value.where == "engine.kind"


def test_missing_spark_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "find_spec", lambda name: None)

    with pytest.raises(ConfigError, match="Spark is not installed") as told:
        factory.open_spark(_config("spark"), tmp_path, lambda share: None)

    assert "[spark]'" in told.value.hint


def test_memory_limit_is_configured_or_a_share_of_the_machine() -> None:
    engine = msgspec.structs.replace(Config().engine, memory_limit=2**30)

    assert factory.memory_limit(msgspec.structs.replace(Config(), engine=engine)) == 2**30
    assert factory.memory_limit(Config()) > 2**28
