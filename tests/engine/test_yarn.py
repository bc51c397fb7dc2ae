"""A crawl on YARN, in a folder that all of its nodes see, has the tables of a crawl on DuckDB."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_standalone import crawled, on
from tests.servers.running import FILES, free_port

from scoter.engine import environment
from scoter.simweb import WebSpec, running

pytestmark = pytest.mark.spark_cluster

SERVER = "org.apache.hadoop.yarn.server"
OPENED = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.lang", "java.util")]


@contextmanager
def yarn(folder: Path) -> Iterator[str]:
    """Run a resource manager and a node manager; yield the address of the former's web interface."""
    conf = folder / "conf"
    conf.mkdir()
    services = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    manager = {f"yarn.resourcemanager.{name}": f"127.0.0.1:{free_port()}" for name in services}
    node = {f"yarn.nodemanager.{name}": "127.0.0.1:0" for name in ("address", "localizer.address", "webapp.address")}
    _write(
        conf / "yarn-site.xml",
        {
            **manager,
            **node,
            "yarn.nodemanager.local-dirs": str(folder / "local"),
            "yarn.nodemanager.log-dirs": str(folder / "logs"),
            "yarn.nodemanager.resource.memory-mb": "4096",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.enable": "false",
        },
    )
    _write(conf / "core-site.xml", {"fs.defaultFS": "file:///"})
    queue = "yarn.scheduler.capacity"
    _write(
        conf / "capacity-scheduler.xml",
        {
            f"{queue}.root.queues": "default",
            f"{queue}.root.default.capacity": "100",
            f"{queue}.maximum-am-resource-percent": "0.5",
        },
    )
    address = manager["yarn.resourcemanager.webapp.address"]
    with ExitStack() as stack:
        for name in ("resourcemanager.ResourceManager", "nodemanager.NodeManager"):
            stack.enter_context(_java(folder / f"{name}.log", conf, f"{SERVER}.{name}"))
        _wait_for_node(address)
        yield address


def _write(path: Path, properties: Mapping[str, str]) -> None:
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items())
    path.write_text(f"<configuration>{''.join(lines)}</configuration>")


@contextmanager
def _java(log: Path, conf: Path, name: str) -> Iterator[None]:
    path = f"{conf}:{FILES / 'yarn'}/*"
    with log.open("wb") as into:
        command = ["java", *OPENED, "-Xmx400m", "-cp", path, name]
        process = subprocess.Popen(command, stdout=into, stderr=into)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for_node(address: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            if (_asked(address, "nodes")["nodes"] or {}).get("node"):
                return
        except OSError:
            pass
        time.sleep(0.5)
    pytest.fail("YARN has no node")


def _asked(address: str, what: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{address}/ws/v1/cluster/{what}", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_crawl_on_yarn_has_the_tables_of_a_crawl_on_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "conf"))
    packed = environment.pack(tmp_path / "environment.tar.gz")
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    bare = Path(sys.base_prefix) / "bin" / "python3"  # without any package
    conf = (
        f"spark.yarn.jars=local:{Path(spark.origin).parent / 'jars'}/*",  # otherwise they are copied to the nodes
        f"spark.yarn.stagingDir=file://{tmp_path / 'staging'}",
        "spark.driver.host=127.0.0.1",
        "spark.yarn.am.memory=512m",
        "spark.executor.instances=2",
        "spark.executor.memory=512m",
        f"spark.pyspark.python={bare}",
    )
    seeds = tmp_path / "seeds.txt"
    with running(WebSpec(hosts=4, pages=32, seed=7)) as server, yarn(tmp_path) as address:
        seeds.write_text("".join(f"{url}\n" for url in server.web.seeds()))
        here = crawled(str(tmp_path / "here"), seeds, server)
        own = on("yarn", *packed.spark_conf, *conf)
        there = crawled(str(tmp_path / "there"), seeds, server, *own, "fetch.where=cluster", "fetch.processes=2")
        applications = _asked(address, "apps")["apps"]["app"]

    assert {each["finalStatus"] for each in applications} == {"SUCCEEDED"}
    assert len(here["crawldb"]) > 30
    for name, table in here.items():
        assert there[name] == table, name
