"""The available memory of machines and containers."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoter.engine.factory import available_memory

MIB = 2**20


def files(root: Path, **contents: str) -> None:
    for name, text in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("contents", "allowed"),
    [
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": f"{64 * MIB}\n"}, 64 * MIB),
        (
            {
                "proc/self/cgroup": "0::/system.slice/scoter.service\n",
                "sys/fs/cgroup/system.slice/memory.max": f"{32 * MIB}\n",
                "sys/fs/cgroup/system.slice/scoter.service/memory.max": "max\n",
            },
            32 * MIB,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/abc\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{16 * MIB}\n",
            },
            16 * MIB,
        ),
    ],
    ids=["a container", "a slice that the service is in", "a container of the first version, with its path outside"],
)
def test_lower_control_group_limit_counts(tmp_path: Path, contents: dict[str, str], allowed: int) -> None:
    files(tmp_path, **contents)

    assert available_memory(tmp_path) == allowed


@pytest.mark.parametrize(
    "contents",
    [
        {},
        {"proc/self/cgroup": "0::/\n"},
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"},
        {"proc/self/cgroup": "nonsense\n::\n", "sys/fs/cgroup/memory.max": "1\n"},
        {"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2**63 - 4096}\n"},
    ],
)
def test_machine_memory_is_used_without_a_lower_limit(tmp_path: Path, contents: dict[str, str]) -> None:
    files(tmp_path, **contents)

    assert available_memory(tmp_path) == available_memory(tmp_path / "nothing") > 2**28
