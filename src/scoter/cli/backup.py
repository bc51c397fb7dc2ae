"""Copy what a live service must not lose, while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from scoter.cli.invocation import invocation


@click.command()
@click.argument("directory")
@click.argument("target")
def command(directory: str, target: str) -> None:
    """Copy what a live service must not lose, while it runs.

    The target is a new directory: it gets the database as it is at one moment (what was accepted, what is known,
    announcements, rules, keys) and the secret of callbacks. To restore, start a service with it. Finished files under
    content/ and log/ never change, so that any tool can copy them beside it.

    \b
    Example:
      scoter backup live /backups/live-monday
    """
    import msgspec

    from scoter.live.sqlite.backup import back_up
    from scoter.store.disk import disk_errors
    from scoter.web.service.plan import ServiceFolder

    source, copy = ServiceFolder(Path(directory)), ServiceFolder(Path(target))
    size = back_up(source.database, copy.database)
    with disk_errors("copy the secret of callbacks", copy.secret_path):
        if source.secret_path.exists():
            copy.secret_path.touch(mode=0o600)
            copy.secret_path.write_bytes(source.secret_path.read_bytes())
    if invocation().json:
        click.echo(msgspec.json.encode({"database": str(copy.database), "bytes": size}))
    else:
        click.echo(f"{copy.database} has {size:,} bytes.")
