"""Ibis loads only the compilers that are used."""

from __future__ import annotations

import subprocess
import sys


def _printed(*lines: str) -> str:
    code = "\n".join(("import sys", "from scoter.engine.ibis_compat import import_compilers_lazily", *lines))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert not done.stderr
    return done.stdout.strip()


LOADED = (
    "print(sorted(name.rpartition('.')[2] for name in sys.modules if 'sql.compilers.' in name and '._' not in name))"
)


def test_engine_loads_only_its_own_compiler() -> None:
    used = "DuckDbCompiler(duckdb.connect()).table('t', {'x': 'TEXT'})"

    assert (
        _printed("import duckdb", "from scoter.engine.duckdb_compiler import DuckDbCompiler", used, LOADED)
        == "['base', 'duckdb']"
    )


def test_other_compilers_load_on_first_use() -> None:
    found = _printed(
        "import_compilers_lazily()",
        "import ibis.backends.sql.compilers as sc",
        "print(sc.sqlite.compiler.__class__.__name__, 'ibis.backends.sql.compilers.trino' in sys.modules)",
        "print(sc.TrinoCompiler.__name__, hasattr(sc, 'nonsense'), 'MySQLCompiler' in dir(sc))",
    )

    assert found.splitlines() == ["SQLiteCompiler False", "TrinoCompiler False True"]


def test_already_loaded_compilers_are_left_alone() -> None:
    before = "import ibis.backends.sql.compilers as sc; known = dict(vars(sc))"

    assert _printed(before, "import_compilers_lazily()", "print(vars(sc) == known)") == "True"
