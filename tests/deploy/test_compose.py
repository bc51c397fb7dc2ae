"""The services of the Compose file start with their own commands, stop, and find everything again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.deploy.containers import cluster_profile, small_profile, submits_and_finds_again

from scoter.simweb import SimServer


@pytest.mark.slow
def test_small_profile_finds_everything_again_after_a_restart(folder: Path, web: SimServer) -> None:
    submits_and_finds_again(small_profile(folder, web.port))


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_cluster_profile_finds_everything_again_after_a_restart(folder: Path, web: SimServer) -> None:
    with cluster_profile(folder, web.port) as services:
        submits_and_finds_again(services)
