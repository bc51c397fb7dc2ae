"""A crawl on a standalone Spark cluster, in an object store, has the tables of a crawl on DuckDB in a folder."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawldb, linkdb
from tests.long.batch_truth import settings
from tests.servers.running import free_port
from tests.stores import servers

from scoter.batch.crawldir.directory import CrawlDir
from scoter.engine import environment
from scoter.simweb import SimServer, WebSpec, running
from scoter.store.objects.path import StorePath

pytestmark = pytest.mark.spark_cluster

COLUMNS = ("status", "retries", "interval", "signature")


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Run a master and two workers of one core; yield the address of the master."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    own = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:
        stack.enter_context(_java(folder / "master", f"{deploy}.master.Master", *own, "--port", str(port)))
        _wait_for(port)
        for name in ("one", "two"):
            limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            stack.enter_context(_java(folder / name, f"{deploy}.worker.Worker", *own, *limits, address))
        yield address


@contextmanager
def _java(folder: Path, *command: str) -> Iterator[None]:
    folder.mkdir()
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    starter = Path(spec.origin).parent / "bin" / "spark-class"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(starter), *command], cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the master does not listen")


def crawled(place: str, seeds: Path, server: SimServer, *more: str) -> dict[str, Any]:
    """Crawl a web in two rounds, with the link graph and the hostdb; return the tables without times."""
    options = [part for each in settings(server.port, *more) for part in ("-D", each)]
    for command in (
        ("crawl", place, str(seeds), "--rounds", "2", "--scope", "any"),
        ("webgraph", place),
        ("updatehostdb", place, "--no-check"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "scoter.cli.main", *options, *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
    directory = CrawlDir.open(place)
    return {
        "crawldb": {
            url: {**{name: row[name] for name in COLUMNS}, "score": round(row["score"], 5)}  # sums in another order
            for url, row in crawldb(directory).items()
        },
        "linkdb": linkdb(directory),
        "nodes": _sql(place, "select url, inlinks, outlinks from nodes order by url"),
        "hosts": _sql(place, "select host, fetched, unfetched, gone, fetches from hosts order by host"),
    }


def on(master: str, *conf: str) -> tuple[str, ...]:
    """Return the settings of a run on a cluster."""
    few = "spark.sql.shuffle.partitions=2"  # Spark's own number is for much larger tables
    return ("engine.kind=spark", f"engine.spark_master={master}", f"engine.spark_conf={json.dumps([few, *conf])}")


def _run(*words: str, settings: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    options = [part for each in settings for part in ("-D", each)]
    command = [sys.executable, "-m", "scoter.cli.main", *options, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _sql(place: str, query: str) -> str:
    command = [sys.executable, "-m", "scoter.cli.main", "sql", place, query, "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty folder in a store, which this process and those it starts can reach."""
    for name, value in servers.environment(f"http://127.0.0.1:{servers.server_port('moto')}").items():
        monkeypatch.setenv(name, value)
    return f"s3://{servers.BUCKET}/cluster"


def test_crawl_on_a_cluster_has_the_tables_of_a_crawl_on_duckdb(tmp_path: Path, store: str) -> None:
    spec = WebSpec(hosts=4, pages=32, seed=7)
    packed = environment.pack(tmp_path / "environment.tar.gz")
    seeds, shared = tmp_path / "seeds.txt", str(tmp_path / "here")
    with running(spec) as server, cluster(tmp_path) as master:
        seeds.write_text("".join(f"{url}\n" for url in server.web.seeds()))
        here = crawled(shared, seeds, server)
        fetching = ("fetch.where=cluster", "fetch.processes=2")
        own = on(master, f"spark.pyspark.python={sys.executable}")
        there = crawled(store, seeds, server, *own, *fetching)
        bare = Path(sys.base_prefix) / "bin" / "python3"  # without any package
        with_archive = on(master, *packed.spark_conf, f"spark.pyspark.python={bare}")
        statistics = [
            _run("domainstats", place, "--json", settings=more) for place, more in ((shared, ()), (store, with_archive))
        ]
        without = on(master, f"spark.pyspark.python={bare}")
        lacking = _run("domainstats", shared, settings=without)

    applications = list(tmp_path.glob("*/app-*"))
    assert {each.parent.name for each in applications} == {"one", "two"}, "both workers ran executors"
    assert len(here["crawldb"]) > 30
    for name, table in here.items():
        assert there[name] == table, name
    assert statistics[0].stdout == statistics[1].stdout != "", statistics[1].stderr
    assert not list((StorePath.of(store) / "tmp").rglob("*")), "no temporary file is left"
    assert lacking.returncode == 2
    assert "the executors lack the Python module" in lacking.stderr
    assert "scoter cluster pack" in lacking.stderr
    assert "Traceback" not in lacking.stderr


def test_unreachable_master_is_one_message(tmp_path: Path) -> None:
    options = ["-D", "engine.kind=spark", "-D", f"engine.spark_master=spark://127.0.0.1:{free_port()}"]
    command = [sys.executable, "-m", "scoter.cli.main", *options, "crawl", str(tmp_path / "c"), "http://a.example/"]
    done = subprocess.run([*command, "--agent", "testbot"], capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert done.stderr.startswith("scoter: engine.spark_master: no master of Spark can be reached")
    assert "Traceback" not in done.stderr
