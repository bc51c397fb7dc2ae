"""sql: what can be queried, and that nothing else can be read or changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, link, named, page, write_crawldb, write_linkdb, write_segment

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED
from scoter.batch.graph.views import VIEWS as GRAPH_VIEWS
from scoter.batch.hosts.columns import HIDDEN
from scoter.batch.jobs.sql import NAMES, sql
from scoter.batch.site.tables import PROBLEMS
from scoter.errors import UserError
from scoter.plugins import Column
from scoter.store.tables import Table

MEMORY = 2**28
A, B = "http://a.org/", "http://b.org/it's"
VIEWS = {
    "crawldb": schemas.CRAWLDB.names,
    "linkdb": schemas.LINKDB.names,
    "fetches": ["segment", *schemas.CRAWL_FETCH.names],
    "outlinks": ["segment", *schemas.CRAWL_PARSE.names],
    "hosts": ["host", *(name for name in schemas.HOSTDB.names if name not in {"url", *HIDDEN})],
    "pages": [
        *("segment", *schemas.PARSE_DATA.names),
        *("text", "main_text", "markdown", "main_text_kept", "main_text_doubtful"),
    ],
    "traps": ["host", "pattern"],
    "problems": PROBLEMS.names,
    **{name: schema.names for name, schema in GRAPH_VIEWS.items()},
}


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    found = crawl_at(tmp_path / "it's a crawl")
    write_crawldb(found, [datum(A, metadata=[("k", "v")]), datum(B, "gone")], applied=["1"])
    write_linkdb(found, {B: [(A, "see")]}, applied=["1"])
    text = {**named(A), "text": "all of it", "main_text": "it"}
    for name in ("1", "2"):
        write_segment(
            found,
            name,
            fetches=[{**datum(A, "success"), "http_status": 200}, datum(B, "gone")],
            pages=[page(A, title=f"Title {name}")],
            texts=[text],
            links=[link(A, B, "see")],
        )
    return found


def ask(crawl: CrawlDir, query: str) -> list[dict[str, Any]]:
    with sql(crawl, memory_limit=MEMORY) as session:
        return list(session.query(query).rows)


def test_empty_crawl_has_all_views_with_columns_and_no_rows(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "empty")

    with sql(crawl, memory_limit=MEMORY) as session:
        views = {view.name: [name for name, _ in view.columns] for view in session.views()}
        counts = [list(session.query(f"select count(*) as n from {name}").rows) for name in views]

    assert {name: columns for name, columns in views.items() if name != "segments"} == VIEWS
    assert views["segments"][0] == "segment"
    assert counts == [[{"n": 0}]] * len(views)


@pytest.mark.parametrize(
    ("query", "created"),
    [
        ("SELECT * FROM CrawlDB", {"crawldb"}),
        ('select * from "pages" join segments using (segment) order by segment', {"pages", "segments"}),
        ("select 1", set()),
        ("select * from host_nodes", set(GRAPH_VIEWS)),
    ],
)
def test_only_views_that_a_query_names_are_created(crawl: CrawlDir, query: str, created: set[str]) -> None:
    with sql(crawl, memory_limit=MEMORY, query=query) as session:
        rows = list(session.query(query).rows)
        views = {view.name for view in session.views()}

    assert views == created
    assert rows == ask(crawl, query)


def test_crawl_has_the_same_views_as_an_empty_one(crawl: CrawlDir) -> None:
    with sql(crawl, memory_limit=MEMORY) as session:
        views = {view.name: [name for name, _ in view.columns] for view in session.views()}

    assert {name: columns for name, columns in views.items() if name != "segments"} == VIEWS


def test_views_have_rows_with_segment_names(crawl: CrawlDir) -> None:
    assert ask(crawl, "select url, metadata['k'] as k from crawldb where status = 'fetched'") == [{"url": A, "k": "v"}]
    assert ask(crawl, "select inlinks[1].anchor as anchor from linkdb") == [{"anchor": "see"}]
    assert ask(crawl, "select segment, title, main_text from pages order by 1") == [
        {"segment": "1", "title": "Title 1", "main_text": "it"},
        {"segment": "2", "title": "Title 2", "main_text": "it"},
    ]
    assert ask(crawl, "select segment, count(*) as n from fetches where http_status = 200 group by 1 order by 1") == [
        {"segment": "1", "n": 1},
        {"segment": "2", "n": 1},
    ]
    assert len(ask(crawl, "select * from outlinks where anchor = 'see'")) == 2
    assert ask(crawl, "select segment, created, is_applied from segments order by segment") == [
        {"segment": "1", "created": NOW, "is_applied": True},
        {"segment": "2", "created": NOW, "is_applied": False},
    ]


def test_parts_of_a_killed_fetch_are_not_shown(crawl: CrawlDir) -> None:
    segment = write_segment(crawl, "3", fetches=[datum(A, "success")], done=())
    with segment.parse_data().part("part-00009") as part:
        part.write(_one_page())

    assert ask(crawl, "select count(*) as n from pages where segment = '3'") == [{"n": 0}]
    segment.finish(FETCHED)
    assert ask(crawl, "select count(*) as n from pages where segment = '3'") == [{"n": 1}]


def test_plugin_columns_are_shown_whether_active_or_not(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [{**datum(A), "depth": 3}], extra=[Column("depth", "int32")])

    assert ask(crawl, "select depth from crawldb") == [{"depth": 3}]


def test_columns_with_the_same_name_are_numbered(crawl: CrawlDir) -> None:
    with sql(crawl, memory_limit=MEMORY) as session:
        answer = session.query("select 1 as a, 2 as a, 3 as a")

        assert answer.columns == ("a", "a_1", "a_2")
        assert list(answer.rows) == [{"a": 1, "a_1": 2, "a_2": 3}]


def test_pivot_and_describe_are_allowed(crawl: CrawlDir) -> None:
    (row,) = ask(crawl, "pivot crawldb on status using count(*) group by interval")

    assert (row["fetched"], row["gone"]) == (1, 1)
    assert ask(crawl, "describe crawldb")[0]["column_name"] == "url"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "copy crawldb to '{out}'",
        "explain analyze copy crawldb to '{out}'",
        "select 1; copy crawldb to '{out}'",
        "create table t as select 1; copy t to '{out}'; select 1",
        "attach '{out}'",
        "install httpfs",
        "set enable_external_access = true",
        "export database '{out}'",
        "drop view crawldb",
        "create table t as select 1",
        "pragma memory_limit = '1GB'",
    ],
)
def test_statements_other_than_select_are_rejected(crawl: CrawlDir, tmp_path: Path, query: str) -> None:
    out = tmp_path / "out"

    with pytest.raises(UserError):
        ask(crawl, query.format(out=out))

    assert not out.exists()


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('{file}')",
        "select * from read_csv('{file}')",
        "select * from '{file}'",
        "select * from read_parquet('{crawl}/crawldb/../../secret.parquet')",
        "select * from glob('{crawl}/*')",
        "select * from 'https://example.org/x.parquet'",
        "select * from duckdb_secrets()",
        "select * from query('select * from read_text(''{file}'')')",
    ],
)
def test_only_the_tables_of_the_crawl_can_be_read(crawl: CrawlDir, tmp_path: Path, query: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")

    with pytest.raises(UserError, match=r"Permission|disabled|cannot be used here"):
        ask(crawl, query.format(file=secret, crawl=str(crawl.path).replace("'", "''")))


def test_files_of_the_crawl_cannot_be_overwritten(crawl: CrawlDir) -> None:
    file = next(crawl.crawldb.glob("v*/*.parquet"))
    before = file.read_bytes()

    with pytest.raises(UserError):
        ask(crawl, f"copy (select 1) to '{str(file).replace(chr(39), chr(39) * 2)}'")

    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select * from crawl", "Tables: crawldb, domain_links, domain_nodes, fetches, "),
        ("select stats from crawldb", "not found"),
        ("selec 1", "syntax error"),
        ("select url::int as n from crawldb", "Could not convert"),
    ],
)
def test_mistake_in_a_query_gives_one_message(crawl: CrawlDir, query: str, told: str) -> None:
    with pytest.raises(UserError) as error:
        ask(crawl, query)

    assert told in str(error.value)
    assert "Stack" not in str(error.value)


def test_python_variables_cannot_be_queried(crawl: CrawlDir) -> None:
    ours = schemas.CRAWLDB.empty_table()

    with pytest.raises(UserError, match="does not exist"):
        ask(crawl, "select * from ours")

    assert ours.num_rows == 0


def test_read_only_crawl_can_be_queried(crawl: CrawlDir) -> None:
    crawl.scratch.write_text("in the way of a folder")

    assert ask(crawl, "select count(*) as n from crawldb") == [{"n": 2}]


def _one_page() -> Any:
    import pyarrow as pa

    row = page(A)
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schemas.PARSE_DATA.names}], schemas.PARSE_DATA)


def test_tables_without_a_finished_version_have_no_rows(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "new")

    with Table.write(crawl.crawldb, schemas.CRAWLDB), Table.write(crawl.linkdb, schemas.LINKDB):
        assert ask(crawl, "select (select count(*) from crawldb) + (select count(*) from linkdb) as n") == [{"n": 0}]


@pytest.mark.parametrize("left", [b"", b"PAR1", b"PAR1" + b"\x7f" * 200 + b"\x10\x00\x00\x00PAR1"])
def test_damaged_part_of_a_segment_is_named_in_the_error(crawl: CrawlDir, left: bytes) -> None:
    (part,) = crawl.segment("1").parse_data().files
    Path(part).write_bytes(left)

    with pytest.raises(UserError, match=r"the file is damaged|cannot read the file") as told:
        ask(crawl, "select count(*) as n from crawldb")

    assert Path(part).name in str(told.value)


def test_error_lists_all_views_whatever_the_query_names(crawl: CrawlDir, tmp_path: Path) -> None:
    with sql(crawl, memory_limit=2**28) as session:
        assert {view.name for view in session.views()} == set(NAMES)

    with (
        sql(crawl, memory_limit=2**28, query="select * from crawldb, nowhere") as session,
        pytest.raises(UserError) as failure,
    ):
        session.query("select * from crawldb, nowhere")
    assert failure.value.hint == f"Tables: {', '.join(sorted(NAMES))}."
