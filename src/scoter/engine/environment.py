"""The packages that Spark's executors need, packed into one archive.

An executor runs Scoter's row functions and plug-ins, so it needs the packages that this process has, in the same
versions and for the same version of Python. They are copied as they are installed here; nothing is downloaded.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Collection, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path

from msgspec import Struct

from scoter.errors import UsageError, UserError
from scoter.plugins import POINTS

FOLDER = "scoter-environment"
"""The name under which Spark unpacks the archive in an executor's working directory."""
_OWN = "scoter"
_ON_CLUSTER = frozenset({"pyspark", "py4j"})
_EXTRAS = frozenset({"documents", "geoip", "language", "s3"})
"""Of Scoter's extras, those with which executors fetch, parse and reach a store."""
_STORES = ("adlfs", "gcsfs")  # other stores, which no extra names
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra == [\"'](\w+)")


class PackedEnvironment(Struct, frozen=True, kw_only=True):
    """An archive, its packages, and the settings of Spark that make executors use it."""

    file: str
    bytes: int
    packages: tuple[str, ...]
    spark_conf: tuple[str, ...]


def pack(file: Path) -> PackedEnvironment:
    """Write the packages of Scoter, of its plug-ins and of all that they need to a new ``.tar.gz``."""
    if not file.name.endswith((".tar.gz", ".tgz")):
        raise UsageError("the name of the archive must end in .tar.gz", where=str(file))
    if file.exists():
        raise UsageError("the file exists", where=str(file), hint="Delete it, or choose another name.")
    packages = sorted(_closure(), key=lambda each: each.name.lower())
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        with tarfile.open(unfinished, "w:gz", compresslevel=3) as archive:
            for package in packages:
                for path, name in _files(package):
                    archive.add(path, name, recursive=False)
        unfinished.rename(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(f"cannot write the archive: {error.strerror or error}", where=str(file)) from error
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return PackedEnvironment(
        file=str(file),
        bytes=file.stat().st_size,
        packages=tuple(f"{each.name} {each.version}" for each in packages),
        spark_conf=(
            f"spark.archives={file.absolute()}#{FOLDER}",
            f"spark.executorEnv.PYTHONPATH=./{FOLDER}",
            f"spark.pyspark.python=python{version}",
        ),
    )


def _closure() -> list[Distribution]:
    """Return Scoter, its extras for executors, packages with plug-ins, and what all these require, if installed."""
    groups = [*(point.group for point in POINTS.values()), "scoter.engine"]
    owners = [entry.dist.name for group in groups for entry in entry_points(group=group) if entry.dist is not None]
    waiting, found = [_OWN, *_STORES, *owners], dict[str, Distribution]()
    while waiting:
        name = _canonical(waiting.pop())
        if name in found or name in _ON_CLUSTER:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:  # required on other platforms, or provided by another package
            continue
        extras = _EXTRAS if name == _OWN else ()
        required = [line for line in found[name].requires or () if _is_wanted(line, extras)]
        waiting += [match[0] for match in map(_NAME.match, required) if match is not None]
    return list(found.values())


def _is_wanted(requirement: str, extras: Collection[str]) -> bool:
    """Return whether a requirement belongs to no extra, or to one of these."""
    extra = _EXTRA.search(requirement)
    return extra is None or extra[1] in extras


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files(package: Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the files of a package and their names in the archive: those below site-packages."""
    is_editable = False
    for each in package.files or ():
        path = Path(str(package.locate_file(each)))
        is_editable |= each.name.endswith(".pth")
        if ".." not in each.parts and each.suffix not in (".pyc", ".pth") and path.is_file():
            yield path, str(each)
    if is_editable:
        yield from _editable_files(package)


def _editable_files(package: Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the files of a package that is installed from a source tree."""
    for each in package.files or ():
        if not each.name.endswith(".pth"):
            continue
        for line in Path(str(package.locate_file(each))).read_text().splitlines():
            root = Path(line)
            if not line or not root.is_dir():
                continue
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path, str(path.relative_to(root))
