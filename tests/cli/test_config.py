from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
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
    first = run("config", "show", "-D", "fetch.delay=2s", "-D", "urlfilter.filters=regex").out

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
        "Converted 4 settings, skipped 2\n"
        "  my.own.property = 1: unknown Nutch property\n"
        "  indexer.indexwriters.file = index-writers.xml: not found; the index writers have their default settings\n"
    )
    assert 'writers = ["solr"]  # plugin.includes' in (tmp_path / "scoter.toml").read_text()
    shown = run("config", "show").out
    assert 'name = "gullbot"  # scoter.toml' in shown
    assert 'delay = "2500ms"  # scoter.toml' in shown
    assert 'robots_503_defer_visits_delay = "1m"  # scoter.toml' in shown


def test_existing_file_is_replaced_only_if_forced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nutch-site.xml").write_text(SITE)
    (tmp_path / "other.toml").write_text("# mine\n")

    refused = run("config", "import-nutch", "nutch-site.xml", "-o", "other.toml")
    assert refused.code == 2
    assert refused.err.startswith("scoter: other.toml: already exists\n")
    assert (tmp_path / "other.toml").read_text() == "# mine\n"

    assert run("config", "import-nutch", "nutch-site.xml", "-o", "other.toml", "--force").code == 0
    assert (tmp_path / "other.toml").read_text() != "# mine\n"


def test_failed_write_leaves_no_file_behind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "nutch-site.xml").write_text(SITE)

    done = run("config", "import-nutch", "nutch-site.xml", "-o", "no/such/folder.toml")

    assert done.code == 2
    assert "no/such/folder.toml: cannot write the file" in done.err
    assert [each.name for each in tmp_path.iterdir()] == ["nutch-site.xml"]


DATA = Path(__file__).parents[1] / "nutch" / "writers" / "data"
INCLUDES = "<property><name>plugin.includes</name><value>indexer-(solr|csv)|exchange-jexl</value></property>"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A folder with Nutch's three files."""
    folder = tmp_path / "conf"
    shutil.copytree(DATA, folder)
    (folder / "nutch-site.xml").write_text(f"<configuration>{INCLUDES}</configuration>")
    return folder


def test_import_nutch_also_converts_index_writers(run: Run, conf: Path, tmp_path: Path) -> None:
    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 0
    assert "  exchange_jexl_1 = indexer_cloud_search_1: not an active writer\n" in done.err
    assert "hunter2" not in done.err
    settings = (tmp_path / "scoter.toml").read_text()
    assert 'writers = ["indexer_solr_1", "indexer_csv_1"]' in settings
    assert 'writers_file = "index-writers.toml"' in settings
    assert "[writer.indexer_solr_1]" in (tmp_path / "index-writers.toml").read_text()
    assert f'writers_file = "{tmp_path}/index-writers.toml"' in run("config", "show").out
    again = run("config", "import-nutch", "conf", "-o", "other.toml")
    assert (again.code, again.err.splitlines()[0]) == (2, "scoter: index-writers.toml: already exists")
    assert not (tmp_path / "other.toml").exists()


def test_import_nutch_prints_index_writers(run: Run, conf: Path) -> None:
    done = run("config", "import-nutch", "conf/index-writers.xml", "conf/exchanges.xml")

    assert done.code == 0
    assert done.out.startswith("# Translated from conf/index-writers.xml and conf/exchanges.xml. The settings need:\n")
    assert '[[route]]\nwriters = ["indexer_solr_1"]\nexpr = "host == \'example.org\'"\n' in done.out
    rows = run("config", "import-nutch", "conf", "--json").out
    assert '"setting":"writer.indexer_solr_1.url"' in rows
    assert "hunter2" not in rows


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["conf"], "the result has several files"),
        (["conf/exchanges.xml"], "conf/exchanges.xml: names writers of another file"),
        (["conf", "conf/nutch-site.xml"], "conf/nutch-site.xml: conf/nutch-site.xml is a file of the same kind"),
        (["."], ".: has none of nutch-site.xml, index-writers.xml, exchanges.xml"),
        (["missing.xml"], "missing.xml"),
    ],
)
def test_import_nutch_refuses_other_files(run: Run, conf: Path, files: list[str], told: str) -> None:
    done = run("config", "import-nutch", *files)

    assert done.code == 2
    assert told in done.err.splitlines()[0]


def test_former_names_of_settings_give_one_warning_that_has_the_present_ones(run: Run, tmp_path: Path) -> None:
    (tmp_path / "scoter.toml").write_text("[urlfilter]\norder = []\n[generate]\nmin_interval = '1d'\n")

    done = run("config", "show")

    assert (done.code, "\nfilters = []  # scoter.toml:2\n" in done.out) == (0, True)
    assert done.err == (
        "Renamed settings: urlfilter.order is now urlfilter.filters (scoter.toml:2), generate.min_interval is now"
        " generate.max_interval (scoter.toml:4). The former names will stop working in the next version.\n"
    )


def test_former_names_in_a_crawl_directory_are_replaced_when_it_continues(run: Run, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>page</p>")
    options = ("-D", "fetch.protocols=file", "-D", "fetch.processes=1", "-D", "store.disk_floor=0")
    run("crawl", "mycrawl", (tmp_path / "page.html").as_uri(), "--rounds", "1", "--agent", "gullbot", *options)
    file = tmp_path / "mycrawl" / "settings.toml"
    file.write_text(file.read_text() + "\n[generate]\nmin_interval = '1d'\n")

    warned = run("crawl", "mycrawl", "--trust-settings")
    again = run("crawl", "mycrawl")

    assert "generate.min_interval is now generate.max_interval (mycrawl/settings.toml" in warned.err
    assert "Renamed settings" not in again.err
    assert 'max_interval = "1d"' in file.read_text()
