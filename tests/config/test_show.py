from __future__ import annotations

import re
from pathlib import Path

from scoter.config import Config, load, load_with_origins
from scoter.config.docs import PAGE, page
from scoter.config.sections import fields
from scoter.config.show import defaults_toml, effective_toml, rows

ROOT = Path(__file__).parents[2]


def test_defaults_file_loads_as_the_defaults_and_lists_every_setting(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text(defaults_toml())

    loaded = load_with_origins(file)

    assert loaded.config == Config()
    followers = {field.name for field in fields().values() if field.setting.follows}
    assert loaded.origins.keys() | followers == fields().keys()


def test_defaults_file_shows_description_bounds_and_nutch_name() -> None:
    assert (
        "# Concurrent requests, over all processes.\n"
        "# Accepts a whole number from 1 to 10000.\n"
        "# Nutch: fetcher.threads.fetch (a request needs no thread here, and Nutch's own crawl script uses\n"
        "# 50)\n"
        "threads = 50\n"
    ) in defaults_toml()
    assert '# min_crawl_delay = "5s"  # as fetch.delay\n' in defaults_toml()


def test_effective_configuration_shows_origins_and_can_be_loaded(tmp_path: Path) -> None:
    given = tmp_path / "scoter.toml"
    given.write_text(
        '[fetch]\ndelay = "90s"\n[plugin.my-filter]\nwords = ["a", "é\\u007f"]\nnested = {a = 1.5, b = []}\n'
    )
    loaded = load_with_origins(given, {"SCOTER_FETCH__PARSE": "true"}, ["urlfilter.regex_file=r.txt"])

    shown = effective_toml(loaded)

    assert f'\ndelay = "90s"  # {given}:2\n' in shown
    assert '\nmin_crawl_delay = "90s"  # as fetch.delay\n' in shown
    assert "\nparse = true  # SCOTER_FETCH__PARSE\n" in shown
    assert "\nthreads = 50  # default\n" in shown
    again = tmp_path / "again" / "scoter.toml"
    again.parent.mkdir()
    again.write_text(shown)
    reloaded = load(again)
    assert reloaded.fetch == loaded.config.fetch
    assert reloaded.urlfilter == loaded.config.urlfilter
    tables = [
        {key: item.value for key, item in config.plugin["my_filter"].items()} for config in (reloaded, loaded.config)
    ]
    assert tables[0] == tables[1]


def test_passwords_are_never_shown() -> None:
    loaded = load_with_origins(overrides=["http.proxy_password=hush", "plugin.solr.password=hush"])

    assert "hush" not in effective_toml(loaded)
    assert all("hush" not in row.value for row in rows(loaded))


def test_every_setting_including_those_of_plugins_has_a_row() -> None:
    found = {row.name: row for row in rows(load_with_origins(overrides=["fetch.delay=1s", "plugin.x.a=1"]))}

    assert found.keys() == fields().keys() | {"plugin.x.a"}
    assert (found["fetch.delay"].value, found["fetch.delay"].origin) == ('"1s"', "-D fetch.delay")
    assert (found["fetch.delay"].default, found["fetch.delay"].nutch) == ('"5s"', ("fetcher.server.delay",))


def test_settings_page_is_up_to_date() -> None:
    written = (ROOT / PAGE).read_text(encoding="utf-8")

    assert written == page(), f"{PAGE} is stale: run `make docs`"


def test_settings_page_has_well_formed_tables() -> None:
    for line in page().splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 5), line
