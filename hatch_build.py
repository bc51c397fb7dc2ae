"""Compile the modules in C into the package, where there is a C compiler; elsewhere the package is pure Python.

SCOTER_NATIVE=0 builds without them, and with SCOTER_NATIVE=1 it is an error if they cannot be compiled.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = ("core/_needles.c", "core/_words.c", "parse/_bytes.c", "parse/_prescan.c", "parse/html/_walk.c")
MODULES = tuple(Path("src/scoter") / source for source in SOURCES)


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the modules to wheels; they work with each Python from 3.11 on (the stable ABI)."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("SCOTER_NATIVE", "")
        if wanted == "0":
            return
        self._folder = tempfile.TemporaryDirectory()
        if version == "editable":
            for each in MODULES:
                (Path(self.root) / each.with_name(module_name(each))).unlink(missing_ok=True)
        built = {each: Path(self._folder.name) / module_name(each) for each in MODULES}
        try:
            for source, module in built.items():
                compile_module(Path(self.root) / source, module)
        except (OSError, subprocess.CalledProcessError) as error:
            if wanted == "1":
                raise
            self.app.display_warning(f"Scoter is built in pure Python, which is slower: {error}")
            return
        if version == "editable":
            for source, module in built.items():
                shutil.move(module, Path(self.root) / source.with_name(module.name))
            return
        for source, module in built.items():
            build_data["force_include"][str(module)] = str(source.with_name(module.name).relative_to("src"))
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def module_name(source: Path) -> str:
    """Return the name of the file that is built from a source."""
    return f"{source.stem}.abi3.so"


def compile_module(source: Path, module: Path, flags: Sequence[str] = ("-O2",)) -> None:
    """Compile a module with the C compiler ``cc``, or that in the variable CC."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    includes = f"-I{sysconfig.get_paths()['include']}"
    hardened = ("-fstack-protector-strong", "-fvisibility=hidden", "-Wl,-z,relro,-z,now")
    command = [*compiler, *flags, *hardened, "-std=gnu11", "-shared", "-fPIC", includes, str(source), "-o", str(module)]
    subprocess.run([*command, "-ldl"], check=True, capture_output=True)  # noqa: S603 - a fixed command
