"""Run every benchmark in its own process; exit with 1 if one misses its target."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    missed = []
    for script in sorted(Path(__file__).parent.glob("bench_*.py")):
        print(f"\n{script.stem.removeprefix('bench_')}", flush=True)
        if subprocess.run([sys.executable, script], check=False).returncode:
            missed.append(script.name)
    if missed:
        print(f"\nmissed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
