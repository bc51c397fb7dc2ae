"""A crawl's settings are recorded in its directory and used by the commands that continue it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at
from tests.cli.conftest import Run

from scoter.cli.invocation import Invocation
from scoter.config import load_with_origins
from scoter.config.show import effective_toml, recorded_toml, secrets
from scoter.errors import UserError


@pytest.fixture
def seed(tmp_path: Path) -> str:
    (tmp_path / "page.html").write_text("<p>page</p>")
    return (tmp_path / "page.html").as_uri()


OPTIONS = ("-D", "fetch.protocols=file", "-D", "fetch.delay=0", "-D", "fetch.processes=1", "-D", "store.disk_floor=0B")


def test_crawl_continues_with_the_settings_it_was_started_with(run: Run, tmp_path: Path, seed: str) -> None:
    started = run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    continued = run("crawl", "mycrawl", "--rounds", "1")
    shown = run("config", "show", "--crawl", "mycrawl").out

    assert started.code == 0, started.err
    assert continued.code == 0  # nothing is due
    assert "agent.name, fetch.delay, fetch.processes, fetch.protocols, store.disk_floor" in continued.err
    assert 'name = "gullbot"  # mycrawl/settings.toml:' in shown
    assert 'protocols = ["file"]  # mycrawl/settings.toml:' in shown


def test_new_options_override_recorded_settings_and_are_recorded(run: Run, tmp_path: Path, seed: str) -> None:
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    again = run("crawl", "mycrawl", "--agent", "ternbot", "-D", "generate.max_count=7")
    recorded = (tmp_path / "mycrawl" / "settings.toml").read_text()

    assert again.code == 0, again.err
    assert 'name = "ternbot"' in recorded
    assert "max_count = 7" in recorded
    assert 'protocols = ["file"]' in recorded


def test_single_steps_use_recorded_settings_but_record_none(run: Run, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "mycrawl")
    (tmp_path / "none.txt").write_text("-.\n")
    crawl.record_settings(f'[urlfilter]\nregex_file = "{tmp_path}/none.txt"\nfilters = ["regex"]\n')
    before = (crawl.path / "settings.toml").read_text()

    injected = run("inject", "mycrawl", "http://a.example/", "-D", "fetch.delay=2s", "--trust-settings")

    assert "1 dropped by filters" in injected.err + injected.out
    assert (crawl.path / "settings.toml").read_text() == before


HOSTILE = """
[fetch]
delay = "3s"
protocols = ["file"]
[browser]
executable = "/tmp/evil"
[engine]
kind = "spark"
spark_conf = ["spark.driver.extraJavaOptions=-javaagent:/tmp/evil.jar"]
[parse]
parsers = ["external"]
[plugin.external]
commands = ["/tmp/evil"]
[nonsense]
x = 1
"""


def test_settings_of_somebody_else_are_ignored_unless_they_are_harmless(run: Run, tmp_path: Path) -> None:
    crawl_at(tmp_path / "mycrawl").record_settings(HOSTILE)

    shown = run("config", "show", "--crawl", "mycrawl", "--quiet")
    trusting = run("config", "show", "--crawl", "mycrawl", "--trust-settings", "-D", "fetch.delay=1s")

    assert 'delay = "3s"  # mycrawl/settings.toml' in shown.out
    assert "evil" not in shown.out
    assert 'kind = "duckdb"' in shown.out
    for name in ("browser.executable", "engine.kind", "engine.spark_conf", "fetch.protocols", "parse.parsers"):
        assert name in shown.err
    assert "plugin.external.commands" in shown.err
    assert "--trust-settings" in shown.err
    assert "nonsense.x is not a setting" in trusting.err


def test_settings_that_the_user_gives_again_are_not_reported_as_ignored(run: Run, tmp_path: Path) -> None:
    crawl_at(tmp_path / "mycrawl").record_settings('[browser]\nexecutable = "/tmp/evil"\n')

    done = run("config", "show", "--crawl", "mycrawl", "-D", "browser.executable=/usr/bin/chromium")

    assert "Ignored" not in done.err
    assert 'executable = "/usr/bin/chromium"' in done.out


def test_ignored_settings_stay_in_the_directory(run: Run, tmp_path: Path, seed: str) -> None:
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    file = tmp_path / "mycrawl" / "settings.toml"
    before = file.read_text() + "\n[plugin.x]\ndeep = [1]\n"
    file.write_text(before)
    ignoring = run("crawl", "mycrawl")

    assert "fetch.protocols, fetch.processes, plugin.x.deep" in ignoring.err
    after = file.read_text()
    assert sorted(after.splitlines()) == sorted(before.splitlines())
    assert "deep = [1]" in after


def test_settings_are_not_the_users_own_after_somebody_changed_them(run: Run, tmp_path: Path, seed: str) -> None:
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    file = tmp_path / "mycrawl" / "settings.toml"
    file.write_text(file.read_text() + '\n[browser]\nexecutable = "/tmp/evil"\n')

    # Continuing twice must not make the ignored settings the user's own.
    ignoring = [run("crawl", "mycrawl").err for _ in range(2)]
    shown = run("config", "show", "--crawl", "mycrawl")

    assert all("fetch.protocols, fetch.processes, browser.executable" in err for err in ignoring)
    assert "evil" not in shown.out


def test_trusted_settings_become_the_users_own(run: Run, tmp_path: Path, seed: str) -> None:
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    file = tmp_path / "mycrawl" / "settings.toml"
    file.write_text(file.read_text() + "# edited\n")

    run("crawl", "mycrawl", "--trust-settings")

    assert "Ignored" not in run("crawl", "mycrawl").err


def test_crawl_continues_without_a_home_directory(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: str
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "state"))
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)

    assert "Ignored settings" in run("crawl", "mycrawl").err


def test_crawl_is_not_changed_without_its_url_filters(run: Run, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("-.\n")
    crawl = crawl_at(tmp_path / "mycrawl")
    crawl.record_settings(f'[urlfilter]\nregex_file = "{tmp_path}/none.txt"\nfilters = ["regex"]\n')

    refused = run("inject", "mycrawl", "http://a.example/")

    assert refused.code == 2
    assert "urlfilter.regex_file, urlfilter.filters" in refused.err
    assert not crawl.crawldb.exists()


def test_configuration_file_in_a_crawl_directory_is_not_the_users_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = crawl_at(tmp_path / "mycrawl")
    (crawl.path / "scoter.toml").write_text('[browser]\nexecutable = "/tmp/evil"\n')

    monkeypatch.chdir(crawl.path)
    assert Invocation().config.browser.executable != Path("/tmp/evil")
    (crawl.path / "crawl.json").unlink()
    assert str(Invocation().config.browser.executable) == "/tmp/evil"


def test_settings_of_a_directory_that_is_no_crawl_are_ignored(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "settings.toml").write_text("nonsense = 1\n")

    done = run("readdb", "other", "--stats")

    assert (done.code, "not a crawl directory" in done.err) == (2, True)
    assert "nonsense" not in done.err


def test_showing_the_settings_of_something_else_is_an_error(run: Run, tmp_path: Path) -> None:
    done = run("config", "show", "--crawl", str(tmp_path))

    assert done.code == 2
    assert "not a crawl directory" in done.err


def test_recorded_settings_load_as_they_were_with_absolute_paths_and_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text('[http]\nauth_file = "keys.txt"\n[urlfilter]\nfilters = ["regex", "validator"]\n')
    flags = ["http.proxy_password=hunter2", "fetch.delay=1500ms", "fetch.max_crawl_delay=off", "agent.name=2.0"]
    given = load_with_origins(file, {"SCOTER_DB__MAX_OUTLINKS_PER_PAGE": "7"}, flags)

    text = recorded_toml(given)
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "settings.toml").write_text(text)
    again = load_with_origins(crawl=tmp_path / "crawl" / "settings.toml", trusts_crawl=True)

    assert "hunter2" not in text
    assert secrets(given) == ["http.proxy_password"]
    assert again.config.http.auth_file == tmp_path / "keys.txt"
    assert again.config.urlfilter == given.config.urlfilter
    assert again.config.fetch == given.config.fetch
    assert (again.config.agent.name, again.config.db) == ("2.0", given.config.db)
    assert again.origins.keys() == given.origins.keys() - {"http.proxy_password"}


def test_headers_with_credentials_are_neither_recorded_nor_shown() -> None:
    given = load_with_origins(None, {}, ['http.headers=["Authorization: Bearer hunter2", "DNT: 1"]'])
    harmless = load_with_origins(None, {}, ['http.headers=["DNT: 1"]'])

    assert "hunter2" not in recorded_toml(given) + effective_toml(given)
    assert secrets(given) == ["http.headers"]
    assert "DNT: 1" in recorded_toml(harmless)


def test_error_messages_have_no_passwords_of_urls() -> None:
    error = UserError("cannot read http://me:hunter2@a.test/", where="s3://me:hunter2@b/", hint="ftp://me:hunter2@c/")

    assert str(error) == "s3://***@b/: cannot read http://***@a.test/\nftp://***@c/"
