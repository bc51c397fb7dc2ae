"""Prepare a Spark cluster for Scoter."""

from __future__ import annotations

from pathlib import Path

import click

from scoter.cli.results import print_result
from scoter.core.display import count, size


@click.group()
def command() -> None:
    """Prepare a Spark cluster for Scoter.

    \b
    Example:
      scoter cluster pack environment.tar.gz
    """


@command.command("pack")
@click.argument("file", metavar="FILE.tar.gz", type=click.Path(path_type=Path))
def pack_(file: Path) -> None:
    """Pack the packages that Spark's executors need into an archive.

    The archive has Scoter, its plug-ins and all packages that they need, as they are installed here. The executors need
    the same version of Python, and nothing else. Prints the settings of Spark that make them use it.

    \b
    Example:
      scoter cluster pack environment.tar.gz
    """
    from scoter.engine.environment import pack

    packed = pack(file)
    lines = ",\n".join(f'  "{line}"' for line in packed.spark_conf)
    text = (
        f"Packed {count(len(packed.packages), 'package')} into {file} ({size(packed.bytes)}). Add to the configuration:"
    )
    print_result(packed, f"{text}\n\n[engine]\nspark_conf = [\n{lines},\n]")
