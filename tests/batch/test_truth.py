"""After a complete crawl of the synthetic web, the status of every URL is correct."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.long.batch_truth import complete, differences, statuses

from scoter.simweb import WebSpec, running

# Nobody waits: a silent host is given up after a second, and what fails is tried again in the next round only.
QUICK = ("http.timeout=1s", "http.time_limit=3s", "fetch.retry_budget=0", "fetch.processes=1")


@pytest.mark.slow
def test_every_url_of_a_web_with_faults_gets_its_true_status(tmp_path: Path) -> None:
    # The long suites look at more seeds and a larger web.
    spec = WebSpec(hosts=8, pages=96, seed=1, faults=True, drip_seconds=0.5)

    with running(spec) as server:
        directory, done = complete(tmp_path / "crawl", server, *QUICK)

    assert done.is_done, done.ended_by
    assert differences(server.web, statuses(directory)) == []
