"""Programs load a corpus without options, and read the same types from every file."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.export.corpus.test_job import written
from tests.export.corpus.test_quality import prose
from tests.export.crawls import add_segment

from scoter.export.corpus.columns import CORPUS

NUMBER = 6
LOADERS = Path(__file__).parents[3] / "build" / "loaders" / "bin" / "python"
"""An environment with the programs that Scoter does not depend on (make test-loaders)."""


@pytest.fixture(scope="module", params=["parquet", "jsonl"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus in shards of one page: the first ones know no date, language or title."""
    folder = tmp_path_factory.mktemp("corpus")
    crawl = crawl_at(folder / "crawl")
    urls = [f"http://host.org/{number}" for number in range(NUMBER)]
    write_crawldb(crawl, [datum(url) for url in urls])
    half = NUMBER // 2
    texts = {url: prose(200, number) for number, url in enumerate(urls)}
    dated = {"published": datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)}
    for name, known, columns in (("1", urls[:half], {"published": None}), ("2", urls[half:], dated)):
        add_segment(crawl, f"2026111500000{name}", {url: texts[url] for url in known}, **columns)
    written(crawl, folder / "texts", form=request.param, shard_size=1)
    return folder / "texts"


def pattern(files: Path) -> str:
    return str(files / "data" / f"*{next((files / 'data').iterdir()).suffix}")


def test_duckdb_loads_it(files: Path) -> None:
    query = f"SELECT count(*), count(DISTINCT sha256), sum(words), max(date)::text FROM '{pattern(files)}'"

    number, digests, words, date = duckdb.sql(query).fetchone() or ()
    assert (number, digests, words) == (NUMBER, NUMBER, 200 * NUMBER)
    assert date.startswith(("2026-01-02 03:04:05", "2026-01-02T03:04:05"))


def test_pandas_loads_it(files: Path) -> None:
    pandas = pytest.importorskip("pandas")
    if pattern(files).endswith(".parquet"):
        found = pandas.read_parquet(files / "data")
    else:
        parts = [pandas.read_json(file, lines=True) for file in sorted((files / "data").iterdir())]
        found = pandas.concat(parts)

    assert list(found.columns) == CORPUS.names
    assert len(found) == NUMBER
    assert found["words"].sum() == 200 * NUMBER
    assert not found.drop(columns="date").isna().any().any()


def test_all_parquet_files_have_the_documented_schema(files: Path) -> None:
    if pattern(files).endswith(".parquet"):
        assert all(pq.read_schema(file).equals(CORPUS) for file in (files / "data").iterdir())


SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
import datasets, pandas, polars
datasets.disable_progress_bars()
folder, pattern, cache, number = sys.argv[1:]
number = int(number)
frame = polars.scan_parquet(pattern) if pattern.endswith(".parquet") else polars.scan_ndjson(pattern)
assert frame.collect().height == number
assert frame.select("words").sum().collect().item() == 200 * number
parts = [pandas.read_parquet(folder + "/data")] if pattern.endswith(".parquet") else None
assert parts is None or len(parts[0]) == number
loaded = datasets.load_dataset(folder, cache_dir=cache)
assert list(loaded) == ["train"], loaded
assert len(loaded["train"]) == number
print(loaded["train"].features)
"""


@pytest.mark.slow
def test_polars_and_datasets_load_it(files: Path, tmp_path: Path) -> None:
    if not LOADERS.exists():
        pytest.skip("make test-loaders installs polars and datasets")
    words: list[Any] = [LOADERS, "-c", SCRIPT, files, pattern(files), tmp_path / "cache", NUMBER]

    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        check=False,
        env={"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr[-2_000:]
    assert all(f"'{name}'" in done.stdout for name in CORPUS.names)
