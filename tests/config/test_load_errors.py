"""Every mistake is reported with its place, its name, and what is accepted."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.config import load
from scoter.errors import ConfigError


def _told(text: str, tmp_path: Path, environ: dict[str, str] | None = None, flags: tuple[str, ...] = ()) -> list[str]:
    file = tmp_path / "scoter.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, environ or {}, flags)
    return str(caught.value).replace(f"{tmp_path}/", "").splitlines()


_DURATION = "a duration (units: ms, s, m, h, d, w; a plain number is seconds)"
_SIZE = "a size (units: B, KB, KiB, MB, MiB, GB, GiB; a plain number is bytes)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fetch]\ndealy = 5\n", "2: fetch.dealy is not a setting; did you mean fetch.delay?"),
        ("[fetch]\ntimeout = 5\n", "2: fetch.timeout is not a setting; did you mean http.timeout?"),
        (
            "[fetch]\nqqq = 5\n",
            "2: fetch.qqq is not a setting; to list all settings: scoter config show --defaults",
        ),
        (
            "[fetsh]\ndelay = 5\n",
            "2: fetsh.delay is not a setting: there is no section [fetsh]; did you mean fetch.delay?",
        ),
        ("[fetsh]\n", "1: [fetsh] is not a section; did you mean [fetch]?"),
        ("delay = 5\n", "1: delay is outside any section; did you mean fetch.delay?"),
        (
            "fetch = 5\n",
            '1: fetch is a section, not a setting; write its settings below [fetch], such as protocols = ["http", "file"]',  # noqa: E501
        ),
        ("[fetcher]\nserver.delay = 5\n", "2: fetcher.server.delay is a Nutch property; the setting is fetch.delay"),
        ("[db]\nfetch.retry.max = 5\n", "2: db.fetch.retry.max is a Nutch property; the setting is db.fetch_retry_max"),
        (
            "[fetch]\nthreads = 'many'\n",
            '2: fetch.threads = "many" is not a whole number; it accepts a whole number from 1 to 10000, such as 50',
        ),
        (
            "[fetch]\nthreads = 1.5\n",
            "2: fetch.threads = 1.5 is not a whole number; it accepts a whole number from 1 to 10000, such as 50",
        ),
        (
            "[fetch]\nthreads = true\n",
            "2: fetch.threads = true is not a whole number; it accepts a whole number from 1 to 10000, such as 50",
        ),
        (
            "[fetch]\nthreads = 0\n",
            "2: fetch.threads = 0 is too small; it accepts a whole number from 1 to 10000, such as 50",
        ),
        (
            "[fetch]\nretry_budget = 2\n",
            "2: fetch.retry_budget = 2 is too large; it accepts a number from 0 to 1, such as 0.2",
        ),
        ("[fetch]\nparse = 'yes'\n", '2: fetch.parse = "yes" is not true or false; it accepts true or false'),
        (
            "[fetch]\ndelay = '5 parsecs'\n",
            f'2: fetch.delay = "5 parsecs" has the unknown unit "parsecs"; it accepts {_DURATION}, such as "5s"',
        ),
        (
            "[fetch]\ntime_limit = -2\n",
            f'2: fetch.time_limit = -2 is negative; it accepts {_DURATION}, or "off", such as "5s"',
        ),
        (
            "[http]\ntimeout = 0\n",
            f'2: http.timeout = 0 is too small; it accepts {_DURATION} from 1ms, such as "10s"',
        ),
        (
            "[fetch]\ncontent_limit = 'big'\n",
            f'2: fetch.content_limit = "big" is not a size; it accepts {_SIZE}, or "off", such as "1MiB"',
        ),
        (
            "[fetch]\nqueue_mode = 'hots'\n",
            (
                '2: fetch.queue_mode = "hots" is not a known value (did you mean "host"?); '
                'it accepts "host", "domain" or "ip"'
            ),
        ),
        (
            "[fetch]\nconnect_to = ['*:80']\n",
            (
                '2: fetch.connect_to = ["*:80"] has the wrong form; '
                'it accepts a list, each item name:port=address:port, such as ["*:80=127.0.0.1:8080"]'
            ),
        ),
        (
            "[urlfilter]\nfilters = 'regex'\n",
            (
                '2: urlfilter.filters = "regex" is not a list; '
                'it accepts a list, each item a string, such as ["regex", "validator"]'
            ),
        ),
        (
            "[agent]\nname = 'my bot'\n",
            (
                '2: agent.name = "my bot" '
                'has the wrong form; it accepts a word without spaces and slashes, such as "examplebot"'
            ),
        ),
        (
            '[agent]\nurl = "http://x/\\r\\nCookie: a"\n',
            (
                '2: agent.url = "http://x/\\r\\nCookie: a" has the wrong form; '
                'it accepts a string, such as "https://example.org/bot"'
            ),
        ),
        (
            "[db]\nfetch_schedule_adaptive_min_interval = '400d'\n",
            (
                '2: db.fetch_schedule_adaptive_min_interval = "400d" must not exceed '
                'db.fetch_schedule_adaptive_max_interval = "365d"; lower the first or raise the second'
            ),
        ),
        (
            "[plugin]\nmine = 5\n",
            "2: plugin.mine is not a plug-in's setting; write plugin.NAME.KEY, or KEY below the header [plugin.NAME]",
        ),
        (
            "[plugin.a-b]\nx = 1\n[plugin.a_b]\nx = 2\n",
            "4: plugin.a_b.x and plugin.a-b.x are the same setting; remove one of them",
        ),
    ],
)
def test_mistake_in_a_file_is_reported_with_its_line(text: str, told: str, tmp_path: Path) -> None:
    assert _told(text, tmp_path) == [f"scoter.toml:{told}"]


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("SCOTER_FETCH__DEALY", "1", "SCOTER_FETCH__DEALY: fetch.dealy is not a setting; did you mean fetch.delay?"),
        (
            "SCOTER_FETCH_DELAY",
            "1",
            "SCOTER_FETCH_DELAY: separate section and key by two underscores: SCOTER_FETCH__DELAY",
        ),
        (
            "SCOTER_FETCH__DELAY",
            "soon",
            f'SCOTER_FETCH__DELAY: fetch.delay = soon is not a duration; it accepts {_DURATION}, such as "5s"',
        ),
        (
            "SCOTER_PLUGIN__A",
            "1",
            "SCOTER_PLUGIN__A: plugin.a is not a plug-in's setting; write plugin.NAME.KEY, or KEY below the header [plugin.NAME]",  # noqa: E501
        ),
    ],
)
def test_mistake_in_the_environment_names_the_variable(variable: str, value: str, told: str, tmp_path: Path) -> None:
    assert _told("", tmp_path, {variable: value}) == [told]


def test_other_variables_with_the_same_prefix_are_ignored() -> None:
    load(environ={"SCOTER_HOME": "/tmp", "SCOTER": "1", "SCOTERS__X": "1"})


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("fetch.delay", "-D fetch.delay: expected section.key=value, such as -D fetch.delay=2s"),
        ("=3", "-D =3: expected section.key=value, such as -D fetch.delay=2s"),
        ("delay=3", "-D delay=3: expected section.key=value, such as -D fetch.delay=2s"),
        ("fetch.dealy=3", "-D fetch.dealy: fetch.dealy is not a setting; did you mean fetch.delay?"),
        (
            "http.redirect.max=3",
            "-D http.redirect.max: http.redirect.max is a Nutch property; the setting is fetch.redirect_max",
        ),
    ],
)
def test_mistake_in_a_flag_names_the_flag(flag: str, told: str, tmp_path: Path) -> None:
    assert _told("", tmp_path, flags=(flag,)) == [told]


def test_all_mistakes_are_reported_together_up_to_a_limit(tmp_path: Path) -> None:
    text = "[fetch]\n" + "".join(f"zzz{number} = 1\n" for number in range(30))

    told = _told(text, tmp_path)

    assert len(told) == 21
    assert told[0].startswith("scoter.toml:2: fetch.zzz0 is not a setting")
    assert told[-1] == "and 10 more"


def test_error_does_not_show_passwords(tmp_path: Path) -> None:
    [told] = _told("[ftp]\npassword = 12345\n", tmp_path)

    assert told == ('scoter.toml:2: ftp.password is not a string; it accepts a string, such as "anonymous@example.com"')


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    [told] = _told('[fetch]\n"de\\u001b[2Jlay" = 1\n', tmp_path)

    assert told == "scoter.toml: fetch.de\ufffd[2Jlay is not a setting; did you mean fetch.delay?"


def test_error_truncates_long_value(tmp_path: Path) -> None:
    [told] = _told(f"[fetch]\ndelay = '{'x' * 1000}'\n", tmp_path)

    assert len(told) < 250


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fetch\n", "scoter.toml:1:7: not valid TOML: "),
        ("[fetch]\ndelay 5\n", "scoter.toml:2:7: not valid TOML: "),
        ("[fetch]\ndelay = ", "scoter.toml: not valid TOML: "),
        ("a = 1\na = 2\n", "scoter.toml:2:6: not valid TOML: "),
        ("a = " + "9" * 5000, "scoter.toml: not valid TOML: "),
        ("a = " + "[" * 100_000, "scoter.toml: tables or arrays are nested"),
        ("a" + ".a" * 5000 + " = 1", "scoter.toml: a.a.a.a.a.a.a.a is not a setting: there is no section [a]"),
        ("#" * 1_100_000, "scoter.toml: larger than 1 MiB"),
    ],
)
def test_invalid_toml_is_reported_with_line_and_column(text: str, told: str, tmp_path: Path) -> None:
    assert _told(text, tmp_path)[0].startswith(told)


def test_file_that_is_not_utf_8_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_bytes(b"[fetch]\n# caf\xe9\n")

    with pytest.raises(ConfigError, match=r"scoter.toml:2: not UTF-8 text"):
        load(file)


@pytest.mark.parametrize(("name", "told"), [("missing.toml", "No such file"), (".", "Is a directory")])
def test_unreadable_file_is_reported_with_its_name(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path / name)

    assert str(caught.value).startswith(f"{tmp_path / name}: cannot read the configuration file: {told}")
    assert "-c" in caught.value.hint


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_flag_or_variable_is_a_setting_or_a_config_error(name: str, value: str) -> None:
    for environ, flags in [
        ({}, [f"{name}={value}"]),
        ({}, [f"fetch.delay={value}"]),
        ({f"SCOTER_{name}": value, "SCOTER_FETCH__CONNECT_TO": value}, []),
    ]:
        with contextlib.suppress(ConfigError):
            load(None, environ, flags)


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("generate.min_score=1" + "0" * 400, "is too large"),
        ("generate.min_score=-1" + "0" * 400, "is too small"),
        ("linkdb.max_inlinks=9223372036854775808", "is too large"),
        ("linkdb.max_anchor_length=4294967296", "is too large"),
        ("scoring.depth_max=3000000000", "is too large"),
        ("scoring.depth_max_override=3000000000", "is too large"),
        ("db.fetch_interval_default=36500d", "is too large"),
        ("db.fetch_interval_max=36500d", "is too large"),
        ("db.fetch_schedule_adaptive_max_interval=36500d", "is too large"),
    ],
)
def test_number_beyond_64_bits_is_an_error(flag: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, {}, [flag])

    assert f" {told}; it accepts " in str(caught.value)


def test_deleted_working_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(ConfigError, match="cannot determine the working directory: No such file or directory"):
        load(None, {}, [])
