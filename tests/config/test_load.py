"""Precedence, origins, paths and the ways of writing a value."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from scoter.config import Config, PortRange, load, load_with_origins


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "scoter.toml"
    file.write_text('[fetch]\nthreads = 10\ndelay = "1s"\n\n[urlfilter]\nregex_file = "rules.txt"\n')
    return file


def test_defaults_apply_without_any_source() -> None:
    loaded = load_with_origins()

    assert loaded.config == Config()
    assert str(loaded.origin("fetch.delay")) == "default"


def test_flags_override_environment_and_environment_overrides_file(file: Path) -> None:
    environ = {"SCOTER_FETCH__THREADS": "20", "SCOTER_FETCH__DELAY": "2s", "PATH": "/bin"}

    loaded = load_with_origins(file, environ, ["fetch.threads=30", "fetch.threads=31"])

    assert loaded.config.fetch.threads == 31
    assert loaded.config.fetch.delay == timedelta(seconds=2)
    assert str(loaded.origin("fetch.threads")) == "-D fetch.threads"
    assert str(loaded.origin("fetch.delay")) == "SCOTER_FETCH__DELAY"
    assert str(loaded.origin("urlfilter.regex_file")) == f"{file}:6"


def test_relative_path_starts_at_its_file_or_the_working_directory(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    config = load(file, {"SCOTER_URLFILTER__FAST_FILE": "fast.txt"}, ["urlfilter.suffix_file=/etc/suffix"])

    assert config.urlfilter.regex_file == tmp_path / "rules.txt"
    assert config.urlfilter.fast_file == elsewhere / "fast.txt"
    assert config.urlfilter.suffix_file == Path("/etc/suffix")
    assert config.urlfilter.prefix_file is None


def test_relative_configuration_file_gives_absolute_paths(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)

    assert load(Path("scoter.toml")).urlfilter.regex_file == file.parent / "rules.txt"


def test_follower_has_the_value_of_its_leader_unless_set() -> None:
    following = load(overrides=["fetch.delay=2s", "fetch.queue_mode=domain"])
    set_apart = load(overrides=["fetch.delay=2s", "fetch.min_crawl_delay=9s"])

    assert following.fetch.min_crawl_delay == timedelta(seconds=2)
    assert following.fetch.exceptions_per_queue_delay == timedelta(seconds=2)
    assert following.generate.partition_mode == "domain"
    assert set_apart.fetch.min_crawl_delay == timedelta(seconds=9)


@pytest.mark.parametrize("off", ['"off"', "-1", "off"])
def test_off_and_minus_one_turn_a_setting_off(off: str) -> None:
    assert load(overrides=[f"fetch.max_exceptions_per_queue={off}"]).fetch.max_exceptions_per_queue is None
    assert load(overrides=[f"fetch.content_limit={off}"]).fetch.content_limit is None


def test_quotes_and_brackets_are_optional_in_flags_and_environment() -> None:
    flags = [
        "agent.version=2.0",
        "fetch.connect_to=*:80=127.0.0.1:8080,a.example:443=[::1]:8443",
        "fetch.allow_networks=127.0.0.0/8",
        "fetch.allow_ports=8080",
        'urlfilter.filters=["regex", "validator"]',
        "hostdb.percentiles=50, 99",
        'index.static="a:b, c"',
        "urlnormalizer.normalizers=",
    ]

    config = load(environ={"SCOTER_AGENT__NAME": "1234", "SCOTER_FETCH__PARSE": "true"}, overrides=flags)

    assert config.agent.name == "1234"
    assert config.agent.version == "2.0"
    assert config.fetch.parse is True
    assert config.fetch.connect_to == ("*:80=127.0.0.1:8080", "a.example:443=[::1]:8443")
    assert config.fetch.allow_networks == ("127.0.0.0/8",)
    assert config.fetch.allow_ports == (PortRange(8080, 8080),)
    assert config.urlfilter.filters == ("regex", "validator")
    assert config.hostdb.percentiles == (50, 99)
    assert config.index.static == ("a:b, c",)
    assert config.urlnormalizer.normalizers == ()


def test_line_break_in_a_value_cannot_set_another_setting() -> None:
    config = load(overrides=['index.subcollection_default_fieldname=1\nvalue2 = "x"'])

    assert config.index.subcollection_default_fieldname == '1\nvalue2 = "x"'


def test_dotted_names_and_byte_order_mark_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text('fetch.delay = "3s"\n[db]\n', encoding="utf-8-sig")

    loaded = load_with_origins(file)

    assert loaded.config.fetch.delay == timedelta(seconds=3)
    assert str(loaded.origin("fetch.delay")) == f"{file}:1"


def test_configuration_can_be_read_from_dev_stdin() -> None:
    code = (
        "from pathlib import Path; from scoter.config import load; c = load(Path('/dev/stdin'));"
        "print(c.fetch.threads, c.urlfilter.fast_file == Path.cwd() / 'f.txt')"
    )
    text = '[fetch]\nthreads = 7\n[urlfilter]\nfast_file = "f.txt"\n'

    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)

    assert done.stdout == "7 True\n"


def test_configuration_survives_pickling() -> None:
    config = load(overrides=["fetch.delay=2s", "plugin.my-filter.words=a"])

    assert pickle.loads(pickle.dumps(config)) == config


def test_configurations_are_equal_by_plugin_values() -> None:
    assert load(overrides=["plugin.x.a=1"]) == load(environ={"SCOTER_PLUGIN__X__A": "1"})
    assert load(overrides=["plugin.x.a=1"]) != load(overrides=["plugin.x.a=2"])


def test_importing_the_configuration_loads_neither_toml_nor_xml() -> None:
    code = "import sys, scoter.config; print([m for m in sys.modules if m in ('tomllib', 'pyexpat')])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})

    assert done.stdout == "[]\n"
