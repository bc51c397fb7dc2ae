from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run


def without_origins(toml: str) -> list[str]:
    return [line.partition("  # ")[0] for line in toml.splitlines()]


def test_generated_defaults_file_loads_as_the_defaults(run: Run) -> None:
    defaults = run("config", "show", "--defaults").out

    read_back = run("-c", "/dev/stdin", "config", "show", stdin=defaults)

    assert read_back.code == 0
    plain = without_origins(run("config", "show").out)
    assert without_origins(read_back.out)[: len(plain)] == plain
    assert "[plugin.urlfilter-validator]" in read_back.out


def test_effective_configuration_can_be_loaded(run: Run) -> None:
    first = run("config", "show", "-D", "fetch.delay=2s", "-D", "urlfilter.order=regex").out

    again = run("-c", "/dev/stdin", "config", "show", stdin=first).out

    assert without_origins(again) == without_origins(first)


def test_json_has_one_row_per_setting(run: Run) -> None:
    rows = [json.loads(line) for line in run("config", "show", "--json").out.splitlines()]

    delay = next(row for row in rows if row["name"] == "fetch.delay")
    assert (delay["value"], delay["origin"], delay["nutch"]) == ('"5s"', "default", ["fetcher.server.delay"])
    assert len(rows) > 250


SITE = """<?xml version="1.0"?>
<configuration>
  <property><name>http.agent.name</name><value>gullbot</value></property>
  <property><name>fetcher.server.delay</name><value>2.5</value></property>
  <property><name>http.robots.503.defer.visits.delay</name><value>60000</value></property>
  <property><name>my.own.property</name><value>1</value></property>
  <property><name>plugin.includes</name><value>indexer-solr</value></property>
</configuration>
"""


def test_nutch_site_file_is_converted_and_the_rest_listed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nutch-site.xml").write_text(SITE)

    done = run("config", "import-nutch", "nutch-site.xml", "-o", "scoter.toml")

    assert done.code == 0
    assert done.out == ""
    assert done.err == (
        "Converted 4 settings, skipped 1\n"
        "  index.writers: no effect yet\n"
        "  my.own.property = 1: unknown Nutch property\n"
    )
    assert 'writers = ["solr"]  # plugin.includes (no effect yet)' in (tmp_path / "scoter.toml").read_text()
    shown = run("config", "show").out
    assert 'name = "gullbot"  # scoter.toml' in shown
    assert 'delay = "2500ms"  # scoter.toml' in shown
    assert 'robots_503_defer_visits_delay = "1m"  # scoter.toml' in shown


def test_failed_write_leaves_no_file_behind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nutch-site.xml").write_text(SITE)

    done = run("config", "import-nutch", "nutch-site.xml", "-o", "no/such/folder.toml")

    assert done.code == 2
    assert "no/such/folder.toml: cannot write the file" in done.err
    assert [each.name for each in tmp_path.iterdir()] == ["nutch-site.xml"]
