"""Manage the data of live services."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note
from scoter.cli.results import print_result

if TYPE_CHECKING:
    from scoter.live.kafka.migration import MigrationResult


@click.group()
def command() -> None:
    """Manage the data of live services.

    \b
    Example:
      scoter live migrate live --to cluster
    """


@command.command("migrate")
@click.argument("directory", metavar="DIR")
@click.option("--to", type=click.Choice(["cluster", "embedded"]), required=True, help="Where the data goes.")
def migrate(directory: str, to: str) -> int:
    """Copy a live service between its own directory and a cluster.

    DIR is the directory of the embedded service; kafka.* and cassandra.* name the cluster. Records, rules and API keys
    are copied while the source runs and answers. Accepted URLs that are not done are moved if nobody processes them:
    stop the embedded service, or all pipelines of the cluster, and repeat the command. It is quick then, and copies
    what has changed. The embedded service must not run if it is the target.

    \b
    Example:
      scoter live migrate live --to cluster
    """
    from scoter.live.kafka.kafka import require_packages

    require_packages()
    found = asyncio.run(_migrate(Path(directory).absolute(), to))
    urls = "journal in use" if found.urls is None else f"{found.urls:,} URLs of the journal"
    print_result(
        {"records": found.records, "rules": found.rules, "keys": found.keys, "urls": found.urls},
        f"Copied {found.records:,} records, {found.rules:,} rules, {found.keys:,} keys; {urls}",
    )
    if found.urls is None:
        note("The journal was not moved, because it is in use. Stop what processes it and repeat the command.")
    return 0


async def _migrate(directory: Path, to: str) -> MigrationResult:
    from scoter.live.kafka.kafka import create_topics
    from scoter.live.kafka.migration import ClusterAccess, open_unused, to_cluster, to_embedded
    from scoter.live.service.plan import ServiceFolder
    from scoter.live.sqlite.database import DatabaseReader, ServiceDb

    config, folder = invocation().config, ServiceFolder(directory)
    if to == "cluster":
        reader = DatabaseReader(folder.database)
        try:
            await asyncio.to_thread(create_topics, config.kafka, config.live)
            async with ClusterAccess(config) as cluster:
                journal = open_unused(folder.database)
                try:
                    return await to_cluster(reader, journal, cluster)
                finally:
                    if journal is not None:
                        journal.close()
        finally:
            reader.close()
    async with ClusterAccess(config) as cluster:
        folder.create()
        async with ServiceDb(folder.database) as db:
            return await to_embedded(cluster, db)
