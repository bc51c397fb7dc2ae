"""No name of a crawl in a request leads out of the folder of crawls, on any route."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batch.api.crawls import BatchBench, names
from tests.effort import examples

from scoter.batch.api.app import BATCH_ROUTES
from scoter.batch.api.handlers.crawls import CRAWL_PATH

HOSTILE = (
    "/etc",
    "/etc/x",
    "..",
    "../beside",
    "../beside/x",
    "..\\beside",
    ".",
    "...",
    ".scoter",
    "news/../../beside",
    "news/segments",
    "news\0",
    "\0",
    "/",
    "//etc",
    "%2e%2e%2fbeside",
    "news\n",
    "a\tb",
    "\u202enews",
    "\ufffd",
    "\uff0e\uff0e\uff0fbeside",
    "linked",
    "x" * 100,
    "\U0001f577",
    "~root",
    "s3:--bucket",
)
ORDERS = (
    {"command": "import-nutch-crawl", "options": {"nutch": "x"}},
    {"command": "import-nutch-crawl", "options": {"nutch": "conf.d"}},
    {"command": "merge", "options": {"directories": ["x"]}},
    {"command": "mergedb", "options": {"directories": ["x"]}},
    {"command": "export", "options": {"out": "x"}},
    {"command": "crawl"},
    {"how": "clean"},
    {"query": "select 1"},
)
ROUTES = [route for route in BATCH_ROUTES if "{name}" in route.path]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BatchBench:
    above = tmp_path_factory.mktemp("names")
    (above / "beside" / "hidden-folder").mkdir(parents=True)
    (above / "beside" / "crawl.json").write_text('{"format": 1, "created": "2026-11-15T12:00:00Z"}')
    root = above / "root"
    root.mkdir()
    (root / "linked").symlink_to(above / "beside")
    found = BatchBench(root)
    found.add_crawl()
    return found


async def check_name(bench: BatchBench, name: str) -> None:
    root = bench.folder.root
    before = {folder: names(folder) for folder in (root, root.parent, root.parent / "beside")}
    known = [each.name for each in Path("/etc").iterdir() if set(".-") & set(each.name)]  # noqa: ASYNC240
    for route in ROUTES:
        target = route.path.replace("{name}", quote(name, safe="")).replace("{id}", "x").replace("{report}", "statuses")
        if route.method == "GET":
            answers = [await bench.client.get(f"{target}?url=http://a.test/")]
        else:
            answers = [await bench.client.post(target, order) for order in ORDERS]
        for got in answers:
            assert got.status in (404, 422), (route.path, name, got)
            text = got.body.decode()
            assert "hidden-folder" not in text
            assert str(root.parent) not in text
            assert not [each for each in known if each in text]
    assert {folder: names(folder) for folder in before} == before


def test_there_are_routes_with_the_name_of_a_crawl() -> None:
    assert len([route for route in ROUTES if route.path.startswith(CRAWL_PATH)]) == len(ROUTES) > 15


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_are_refused_on_every_route(bench: BatchBench, name: str) -> None:
    await check_name(bench, name)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).map(lambda text: "/" + text))
async def test_no_absolute_path_reaches_a_route(bench: BatchBench, name: str) -> None:
    await check_name(bench, name)


async def test_an_import_to_a_path_outside_lists_nothing(bench: BatchBench) -> None:
    order = {"command": "import-nutch-crawl", "options": {"nutch": "none"}}

    outside = await bench.client.post("/v1/crawls/%2Fetc%2Fx/jobs", order)
    inside = await bench.client.post("/v1/crawls/new/jobs", order)

    assert outside.status == 404
    assert "accepted" not in outside.json
    assert inside.json["where"] == "/options/nutch"


async def test_an_order_without_key_learns_nothing_about_names(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path, required=True)

    got = [await bench.client.get(f"/v1/crawls/{quote(name, safe='')}") for name in ("news", "/etc", "..")]

    assert [each.status for each in got] == [401, 401, 401]
