"""Selection by columns, compared with the rules in plain Python and with the row hooks of plug-ins."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batch.making import DAY, NOW, known, make_crawl

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.schemas import datum_of, url_of
from scoter.batch.fetchlists.candidates import SORT_VALUE, SelectionRules, select_candidates
from scoter.batch.jobs.generate import GenerateOptions, generate
from scoter.config import Config, load
from scoter.core.datum import CrawlDatum
from scoter.core.domain import registered_domain
from scoter.core.expr import compile_expr, matches
from scoter.core.scoring import ScoringChain
from scoter.core.url import Url
from scoter.engine import Engine, source_of
from scoter.engine.duckdb import DuckDbEngine
from scoter.plugins import chain
from scoter.store.tables import Table

DEPTH = 'scoring.filters=["opic", "depth"]'
EXPRESSIONS = (
    "",
    "score > 0.5",
    'status in ["unfetched", "gone"] and not host == "a.org"',
    'fetch_time < now - 1d or metadata.lang == "en"',
    "modified_time == null and interval > 10d",
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "generate.max_count": st.sampled_from(["1", "2"]),
        "generate.count_mode": st.sampled_from(["host", "domain"]),
        "generate.min_score": st.sampled_from(["0.5", "-1.0", "2.0"]),
        "generate.max_interval": st.sampled_from(["1d", "40d"]),
        "generate.restrict_status": st.sampled_from(["unfetched", "fetched"]),
        "urlfilter.filters": st.sampled_from(["suffix"]),
        "db.fetch_interval_max": st.sampled_from(["10d"]),
    },
)
URLS = st.builds(
    "http://{}/{}{}".format,
    st.sampled_from(["a.org", "b.org", "w.a.org", "c.co.uk"]),
    st.integers(0, 9),
    st.sampled_from(["", ".jpg"]),
)


def _known(url: str, status: str, depths: tuple[int | None, int | None], **columns: Any) -> dict[str, Any]:
    return known(url, status, depth=depths[0], max_depth=depths[1], **columns)


ROWS = st.lists(
    st.builds(
        _known,
        URLS,
        st.sampled_from(["unfetched", "fetched", "gone"]),
        fetch_time=st.sampled_from([None, NOW, *(NOW + timedelta(days=days) for days in (-3, -1, 1, 11, 200))]),
        modified_time=st.sampled_from([None, NOW - 5 * DAY]),
        signature=st.sampled_from([None, b"\x01"]),
        interval=st.sampled_from([3600, 20 * 86_400, 100 * 86_400]),
        score=st.sampled_from([None, -2.0, 0.0, 0.25, 1.0, 1.5]),
        metadata=st.sampled_from([None, {"lang": "en"}, {"lang": "de", "x": ""}]),
        depths=st.sampled_from([(None, None), (1, None), (1, 4), (4, 4)]),
    ),
    max_size=25,
    unique_by=lambda row: row["url"],
)


@pytest.fixture(scope="module")
def duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with DuckDbEngine(tmp_path_factory.mktemp("engine"), 2**28, threads=2) as engine:
        yield engine


def expected(
    rows: Sequence[Mapping[str, Any]], config: Config, moment: datetime, expr: str, top_n: int | None, segments: int
) -> list[set[str]]:
    """Return the expected segments, by applying the rules one after another."""
    scoring = chain("scoring", config)
    extra = schemas.column_names(schemas.plugin_columns(scoring))
    schedule, filters = chain("schedule", config)[0][1], chain("urlfilter", config)
    found: list[tuple[float, str, str, Url]] = []
    for row in rows:
        url = url_of(row)
        is_due, datum = schedule.due(datum_of(row, extra=extra), moment)
        value = ScoringChain(scoring).sort_value(url, datum)
        if (
            is_due
            and all(each.keeps(url) for _, each in filters)
            and (not expr or matches(compile_expr(expr), _told(row, datum), moment))
            and config.generate.restrict_status in (None, row["status"])
            and (config.generate.min_score is None or value >= config.generate.min_score)
            and (config.generate.max_interval is None or datum.interval <= config.generate.max_interval)
        ):
            found.append((-value, url.key, url.text, url))
    made: list[set[str]] = [set() for _ in range(segments)]
    counts: Counter[tuple[int, str]] = Counter()
    reached: dict[str, int] = {}
    for _, __, text, url in sorted(found, key=lambda each: each[:3]):
        name = url.host if config.generate.count_mode == "host" else registered_domain(url.host)
        most = config.generate.max_count
        for number in range(reached.get(name, 0) if most else 0, segments):
            full = top_n is not None and len(made[number]) >= top_n
            if not full and (most is None or counts[number, name] < most):
                made[number].add(text)
                counts[number, name] += 1
                reached[name] = number
                break
    return [each for each in made if each]


def _told(row: Mapping[str, Any], datum: CrawlDatum) -> dict[str, Any]:
    own = {name: getattr(datum, name) for name in ("fetch_time", "modified_time", "interval", "score", "metadata")}
    return {**row, **own}


@settings(max_examples=20, deadline=None)
@given(
    rows=ROWS,
    given_settings=SETTINGS,
    by_depth=st.booleans(),
    expr=st.sampled_from(EXPRESSIONS),
    top_n=st.sampled_from([None, 1, 3]),
    segments=st.integers(1, 3),
    add_days=st.sampled_from([0, 2]),
)
def test_selection_equals_the_rules_in_plain_python(
    duckdb: Engine,
    rows: list[dict[str, Any]],
    given_settings: dict[str, str],
    by_depth: bool,
    expr: str,
    top_n: int | None,
    segments: int,
    add_days: int,
) -> None:
    config = load(None, {}, [*(f"{name}={value}" for name, value in given_settings.items()), *([DEPTH] * by_depth)])
    columns = schemas.plugin_columns(chain("scoring", config))
    folder = Path(tempfile.mkdtemp())
    try:
        crawl = make_crawl(folder / "crawl", rows, extra=columns)
        options = GenerateOptions(top_n=top_n, lists=2, max_segments=segments, expr=expr, add_days=add_days)
        done = generate(crawl, duckdb, config, now=NOW, options=options)
        found = [
            {url for batch in crawl.segment(name).crawl_generate().scan(["url"]) for url in batch["url"].to_pylist()}
            for name in done.segments
        ]
    finally:
        shutil.rmtree(folder)
    assert found == expected(rows, config, NOW + timedelta(days=add_days), expr, top_n, segments)
    assert list(done.segments.values()) == list(map(len, found))


class RowsOnly:
    """A plug-in with only row hooks, which call another plug-in."""

    def __init__(self, plugin: Any) -> None:
        for hook in ("sort_value", "due"):
            if hasattr(plugin, hook):
                setattr(self, hook, getattr(plugin, hook))


@settings(max_examples=12, deadline=None)
@given(rows=ROWS, mixed=st.booleans())
def test_row_hooks_select_the_same_urls_as_column_hooks(
    duckdb: Engine, rows: list[dict[str, Any]], mixed: bool
) -> None:
    config = load(None, {}, [DEPTH, "generate.min_score=-3.0"])
    scoring, schedule = chain("scoring", config), chain("schedule", config)[0][1]
    columns = schemas.plugin_columns(scoring)
    by_rows = [(name, plugin if mixed and name == "depth" else RowsOnly(plugin)) for name, plugin in scoring]
    folder = Path(tempfile.mkdtemp())
    try:
        crawl = make_crawl(folder / "crawl", rows, extra=columns)
        with Table.open(crawl.crawldb, schemas.CRAWLDB, extra=columns) as table:
            selected = [
                {
                    (row["url"], row[SORT_VALUE], row["fetch_time"], row["interval"])
                    for batch in duckdb.batches(
                        select_candidates(
                            duckdb,
                            duckdb.read(source_of(table)),
                            SelectionRules(now=NOW, schedule=clock, scoring=each, extra=schemas.column_names(columns)),
                        ).rows
                    )
                    for row in batch.to_pylist()
                }
                for clock, each in ((schedule, scoring), (RowsOnly(schedule), by_rows))
            ]
    finally:
        shutil.rmtree(folder)
    assert selected[0] == selected[1]
