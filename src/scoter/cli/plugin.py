"""List plug-ins, or run one."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.output import note, print_json
from scoter.cli.results import print_table


@click.group()
def command() -> None:
    """List plug-ins, or run one.

    \b
    Example:
      scoter plugin list
    """


@command.command("list")
@click.option("--point", help="Only list plug-ins of this extension point.")
@click.option("--points", is_flag=True, help="List the extension points instead.")
def list_(point: str | None, points: bool) -> None:
    """List the installed plug-ins.

    Shows the extension point, the package, and the position in the active chain.

    \b
    Example:
      scoter plugin list --point urlfilter
    """
    from scoter.errors import PluginError, UsageError, did_you_mean
    from scoter.plugins import POINTS, active, installed

    if points:
        _print([{"point": each.name, "setting": each.chain, "what it does": each.sentence} for each in POINTS.values()])
        return
    if point is not None and point not in POINTS:
        message = f"{point!r} is not an extension point{did_you_mean(point, POINTS)}"
        raise UsageError(message, hint=f"Extension points: {', '.join(POINTS)}")
    rows, broken = [], []
    for plugin in installed():
        if point is not None and plugin.point.name != point:
            continue
        names = active(plugin.point, invocation().config)
        try:
            purpose = plugin.purpose()
        except PluginError as error:
            purpose = "(broken)"
            broken.append(str(error))
        rows.append(
            {
                "plug-in": plugin.full_name,
                "point": plugin.point.name,
                "package": f"{plugin.package} {plugin.version}",
                "active": f"{names.index(plugin.name) + 1} of {len(names)}" if plugin.name in names else "",
                "what it is for": purpose,
            }
        )
    _print(rows)
    for text in broken:
        note(f"scoter: {text}")


@command.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(name: str, args: tuple[str, ...]) -> int:
    """Run the command of a plug-in with the given arguments.

    \b
    Example:
      scoter plugin run urlfilter-few-parameters https://example.org/?a=1

    That plug-in comes with the package in examples/scoter-frugal.
    """
    from scoter.errors import PluginError
    from scoter.plugins import Command, find_by_full_name

    plugin = find_by_full_name(name).make(invocation().config)
    if not isinstance(plugin, Command):
        raise PluginError(f"{name} has no command", hint="Only plug-ins with a method run(args) can be run.")
    return int(plugin.run(args) or 0)


def _print(rows: list[dict[str, str]]) -> None:
    if invocation().json:
        for row in rows:
            print_json({key.replace(" ", "_").replace("-", ""): value for key, value in row.items()})
    elif rows:
        print_table(rows, list(rows[0]))
