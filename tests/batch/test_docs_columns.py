"""docs/crawl-directory.md lists every column of every table, with its type and a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scoter.batch.crawldir import schemas

PAGE = (Path(__file__).parents[2] / "docs" / "crawl-directory.md").read_text()
TABLES = {
    "crawldb": schemas.CRAWLDB,
    "linkdb": schemas.LINKDB,
    "indexdb": schemas.INDEXDB,
    "hostdb": schemas.HOSTDB,
    "nodes": schemas.GRAPH_NODES,
    "node_values": schemas.GRAPH_VALUES,
    "links": schemas.GRAPH_LINKS,
    "hosts": schemas.SITE_NODES,
    "host_values": schemas.SITE_VALUES,
    "host_links": schemas.SITE_LINKS,
    "crawl_generate": schemas.CRAWL_GENERATE,
    "crawl_fetch": schemas.CRAWL_FETCH,
    "parse_data": schemas.PARSE_DATA,
    "parse_text": schemas.PARSE_TEXT,
    "crawl_parse": schemas.CRAWL_PARSE,
}
ITEM = re.compile(r"^- `(\w+)` \(`(.+?)`\): (.+)$", re.MULTILINE)


def sections() -> dict[str, str]:
    _, *found = re.split(r"^### (\w+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_every_table_has_a_section() -> None:
    assert sections().keys() == TABLES.keys()


@pytest.mark.parametrize("name", TABLES)
def test_section_lists_exactly_the_columns_of_its_table(name: str) -> None:
    told: list[Any] = ITEM.findall(re.sub(r"\n {2}", " ", sections()[name]))

    assert [(column, kind) for column, kind, _ in told] == [(field.name, str(field.type)) for field in TABLES[name]]
    assert all(sentence.endswith(".") for _, _, sentence in told)


def test_every_status_is_documented() -> None:
    from scoter.batch.crawldir.schemas import DB_STATUSES

    for status in DB_STATUSES:
        assert f"`{status}`" in PAGE
