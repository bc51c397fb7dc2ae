"""The writers of message queues without a server: wrong settings, and servers that cannot be reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.servers.running import free_port

from scoter.config import load, load_with_origins
from scoter.config.show import effective_toml, recorded_toml
from scoter.errors import ConfigError, UserError
from scoter.plugins import POINTS, IndexRun, declared_settings, find

RUN = IndexRun(directory=Path(), number=1)
PASSWORD = "hunter2"


def overrides(kind: str, **settings: Any) -> list[str]:
    return [f"plugin.indexwriter-{kind}.{name}={json.dumps(value)}" for name, value in settings.items()]


def writer(kind: str, **settings: Any) -> Any:
    return find(POINTS["indexwriter"], kind).make(load(overrides=overrides(kind, **settings)))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("kafka", {"servers": ["127.0.0.1:PORT"], "timeout": "1s", "username": "a"}),
        ("rabbitmq", {"url": "amqp://127.0.0.1:PORT/"}),
    ],
)
def test_server_that_cannot_be_reached_is_an_error(
    kind: str, settings: dict[str, Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    port = str(free_port())
    made = writer(kind, **json.loads(json.dumps(settings).replace("PORT", port)), password=PASSWORD)

    with pytest.raises(UserError, match="cannot be used") as raised, caplog.at_level(0):
        made.open(RUN)
    made.close()

    assert PASSWORD not in str(raised.value) + caplog.text
    assert capfd.readouterr() == ("", "")


def test_address_of_rabbitmq_is_checked() -> None:
    for url in ("localhost", "http://localhost/", "amqp://", "amqp://a:x/", "amqp://a/?heartbeat=0"):
        with pytest.raises(ConfigError, match="is not an address"):
            writer("rabbitmq", url=url)
    with pytest.raises(ConfigError, match="holds a user name") as raised:
        writer("rabbitmq", url=f"amqp://guest:{PASSWORD}@localhost/")
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize("option", ["nonsense", "=x", ""])
def test_options_must_have_a_name(option: str) -> None:
    with pytest.raises(ConfigError, match="name=value"):
        writer("kafka", options=[option])
    with pytest.raises(ConfigError, match="name=value"):
        writer("kafka", secret_options=[option])
    with pytest.raises(ConfigError, match="name=value"):
        writer("rabbitmq", headers=[option])


def test_unknown_option_of_kafka_is_an_error() -> None:
    with pytest.raises(ConfigError, match="acsk"):
        writer("kafka", options=["acsk=all"]).open(RUN)


def test_secrets_of_kafka_have_their_own_settings() -> None:
    with pytest.raises(ConfigError, match="is a secret") as raised:
        writer("kafka", options=[f"sasl.password={PASSWORD}"])

    assert PASSWORD not in str(raised.value)


def test_secret_option_that_kafka_refuses_is_not_shown() -> None:
    with pytest.raises(ConfigError) as raised:
        writer("kafka", secret_options=[f"security.protocol={PASSWORD}"]).open(RUN)

    assert "security.protocol" in str(raised.value)
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("kafka", {"password": PASSWORD}),
        ("kafka", {"secret_options": [f"ssl.key.password={PASSWORD}"]}),
        ("rabbitmq", {"password": PASSWORD}),
        ("opensearch", {"password": PASSWORD}),
        ("elasticsearch", {"api_key": PASSWORD}),
        ("solr", {"password": PASSWORD}),
    ],
)
def test_secrets_are_neither_shown_nor_recorded(kind: str, setting: dict[str, Any]) -> None:
    loaded = load_with_origins(overrides=overrides(kind, **setting))

    assert PASSWORD not in effective_toml(loaded)
    assert PASSWORD not in recorded_toml(loaded, declared_settings())
