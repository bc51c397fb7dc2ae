"""Back up a live service while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from scoter.cli.results import print_result
from scoter.core.display import size


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("target")
def command(directory: str, target: str) -> None:
    """Back up a live service while it runs.

    TARGET is a new directory. It gets a consistent copy of the database (accepted messages, URL records, events, rules,
    API keys) and the secret that signs callbacks. To restore, start a service in it. Finished files under content/ and
    log/ never change, so any tool can copy them.

    \b
    Example:
      scoter backup live /backups/live-monday
    """
    from scoter.live.service.plan import ServiceFolder
    from scoter.live.sqlite.database import back_up
    from scoter.store.disk import disk_errors

    source, copy = ServiceFolder(Path(directory)), ServiceFolder(Path(target))
    length = back_up(source.database, copy.database)
    with disk_errors("copy the callback secret", copy.secret_path):
        if source.secret_path.exists():
            copy.secret_path.touch(mode=0o600)
            copy.secret_path.write_bytes(source.secret_path.read_bytes())
    print_result({"database": str(copy.database), "bytes": length}, f"Wrote {copy.database} ({size(length)})")
