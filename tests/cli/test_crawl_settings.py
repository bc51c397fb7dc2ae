"""A crawl's settings are recorded in its directory and used by the commands that continue it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at
from tests.cli.conftest import Run

from scoter.config import load_with_origins
from scoter.config.show import recorded_toml, secrets


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
    assert continued.code == 1  # nothing is due
    assert "agent.name, fetch.delay, fetch.processes, fetch.protocols, store.disk_floor" in continued.err
    assert 'name = "gullbot"  # mycrawl/settings.toml:' in shown
    assert 'protocols = ["file"]  # mycrawl/settings.toml:' in shown


def test_new_options_override_recorded_settings_and_are_recorded(run: Run, tmp_path: Path, seed: str) -> None:
    run("crawl", "mycrawl", seed, "--rounds", "1", "--agent", "gullbot", *OPTIONS)
    again = run("crawl", "mycrawl", "--agent", "ternbot", "-D", "generate.max_count=7")
    recorded = (tmp_path / "mycrawl" / "settings.toml").read_text()

    assert again.code == 1, again.err
    assert 'name = "ternbot"' in recorded
    assert "max_count = 7" in recorded
    assert 'protocols = ["file"]' in recorded


def test_single_steps_use_recorded_settings_but_record_none(run: Run, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "mycrawl")
    (tmp_path / "none.txt").write_text("-.\n")
    crawl.record_settings(f'[urlfilter]\nregex_file = "{tmp_path}/none.txt"\norder = ["regex"]\n')
    before = (crawl.path / "settings.toml").read_text()

    injected = run("inject", "mycrawl", "http://a.example/", "-D", "fetch.delay=2s")

    assert "1 dropped by filters" in injected.err + injected.out
    assert (crawl.path / "settings.toml").read_text() == before


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
    file.write_text('[http]\nauth_file = "keys.txt"\n[urlfilter]\norder = ["regex", "validator"]\n')
    flags = ["http.proxy_password=hunter2", "fetch.delay=1500ms", "fetch.max_crawl_delay=off", "agent.name=2.0"]
    given = load_with_origins(file, {"SCOTER_DB__MAX_OUTLINKS_PER_PAGE": "7"}, flags)

    text = recorded_toml(given)
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "settings.toml").write_text(text)
    again = load_with_origins(crawl=tmp_path / "crawl" / "settings.toml")

    assert "hunter2" not in text
    assert secrets(given) == ["http.proxy_password"]
    assert again.config.http.auth_file == tmp_path / "keys.txt"
    assert again.config.urlfilter == given.config.urlfilter
    assert again.config.fetch == given.config.fetch
    assert (again.config.agent.name, again.config.db) == ("2.0", given.config.db)
    assert again.origins.keys() == given.origins.keys() - {"http.proxy_password"}
