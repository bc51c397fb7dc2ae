"""The exchange and the segment merge filter in docs/plugins.md, installed as a package and used."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, named, page, write_segment

from scoter.batch.jobs.mergesegs import mergesegs
from scoter.config import load
from scoter.core.document import Document
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import PluginError
from scoter.index.routes import configured_plan
from scoter.plugins import POINTS, chain, find, installed

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
BROKEN = '''
class Broken:
    """Fails."""

    def __init__(self, setup): ...

    def writers(self, document):
        raise KeyError("lang")

    def keeps(self, page):
        raise ValueError("no")
'''
ENTRIES = """\
[scoter.exchange]
by-language = documented:ByLanguage
broken = documented:Broken
[scoter.segmentmergefilter]
only-text = documented:OnlyText
broken = documented:Broken
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with the classes of the page."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    folder = tmp_path / "site"
    info = folder / "documented-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "documented.py").write_text(next(each for each in blocks if "class ByLanguage" in each) + BROKEN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: documented\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(folder))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("documented", None)


def document(number: int, **fields: str) -> Document:
    return Document(id=f"http://a.example/{number}").with_fields({name: [value] for name, value in fields.items()})


def test_exchange_chooses_among_the_active_writers(tmp_path: Path) -> None:
    file = tmp_path / "writers.toml"
    file.write_text('[writer.english]\ntype="jsonl"\n[writer.rest]\ntype="jsonl"\n[writer.all]\ntype="jsonl"\n')
    given = [f"index.writers_file={file}", "index.exchanges=by-language"]
    plan = configured_plan(load(overrides=[*given, "index.writers=english,rest,all"]))
    fewer = configured_plan(load(overrides=[*given, "index.writers=english,all"]))

    assert plan.writers_of(document(1, lang="en"), NOW) == {"english"}
    assert plan.writers_of(document(2, lang="de"), NOW) == {"rest"}
    assert fewer.writers_of(document(2, lang="de"), NOW) == frozenset()  # it names a writer that is not active


def test_exchanges_add_to_routes_and_precede_the_default_route(tmp_path: Path) -> None:
    file = tmp_path / "writers.toml"
    file.write_text(
        '[writer.de]\ntype="jsonl"\n[writer.long]\ntype="jsonl"\n[writer.rest]\ntype="jsonl"\n'
        '[[route]]\nwriters=["long"]\nexpr="contentLength > 9"\n[[route]]\nwriters=["rest"]\ndefault=true\n'
    )
    overrides = [f"index.writers_file={file}", "index.writers=de,long,rest", "index.exchanges=field"]
    plan = configured_plan(load(overrides=[*overrides, "plugin.exchange-field.field=lang"]))
    long = document(1, lang="de").with_fields(contentLength=[10])

    assert plan.writers_of(long, NOW) == {"de", "long"}
    assert plan.writers_of(document(2, lang="de"), NOW) == {"de"}
    assert plan.writers_of(document(3, lang="en"), NOW) == {"rest"}


def test_segment_merge_filter_drops_pages(tmp_path: Path) -> None:
    # given two segments with texts of different age
    crawl = crawl_at(tmp_path / "crawl")
    texts = {"1": {"http://a.org/": "old", "http://b.org/": "text"}, "2": {"http://a.org/": " ", "http://c.org/": "c"}}
    segments = [
        write_segment(
            crawl,
            name,
            fetches=[datum(url, "success", http_status=200) for url in found],
            pages=[page(url, title=name) for url in found],
            texts=[{**named(url), "text": text} for url, text in found.items()],
        )
        for name, found in texts.items()
    ]
    out, config = crawl_at(tmp_path / "out"), load(overrides=["db.segment_merge_filters=only-text"])

    # when they are merged
    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine:
        result = mergesegs(out, segments, engine, config, now=datetime(2026, 1, 1, tzinfo=UTC))

    # then the newest fetch of a page decides
    (merged,) = out.all_segments()
    assert result.urls == 2
    for table in (merged.crawl_fetch(), merged.parse_data(), merged.parse_text()):
        found = [row["url"] for batch in table.scan() for row in batch.to_pylist()]
        assert sorted(found) == ["http://b.org/", "http://c.org/"]


def test_errors_of_a_plugin_name_it_and_the_page(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    segment = write_segment(crawl, "1", fetches=[datum("http://a.org/", "success")], pages=[page("http://a.org/")])
    config = load(overrides=["db.segment_merge_filters=broken", "index.exchanges=broken"])

    with (
        DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine,
        pytest.raises(PluginError, match=r"http://a.org/: segmentmergefilter-broken failed: ValueError: no"),
    ):
        mergesegs(crawl_at(tmp_path / "out"), [segment], engine, config, now=NOW)
    with pytest.raises(PluginError, match="exchange-broken failed: KeyError"):
        configured_plan(config).writers_of(document(1), NOW)


@pytest.mark.parametrize("point", ["exchange", "segmentmergefilter"])
def test_plugins_of_both_points_are_found_and_checked(point: str) -> None:
    for plugin in installed():
        if plugin.point is POINTS[point]:
            assert plugin.purpose()

    with pytest.raises(PluginError, match=f"is not a {point} plug-in"):
        find(POINTS[point], "nothing")
    assert chain(point, load()) == ()
