"""Schemathesis generates requests from the OpenAPI document of the REST API, and finds nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.live.api.test_schema import EXAMPLES, HERE, ROOT, SEED

pytestmark = pytest.mark.slow

# As for the live service. In addition, 401, 409 and 422 for what matches the schema: it cannot express which options a
# command has, what SQL is, which crawls exist, or that a session needs a key.
SETTINGS = """
hooks = "{here}/formats.py"

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "404", "409", "413", "422", "431"]

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "404", "405", "409", "413", "415", "422", "431"]
"""


@pytest.mark.parametrize("options", [(), ("keys",)], ids=["without keys", "with keys"])
def test_generated_requests_get_the_responses_of_the_openapi_document(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "crawls").mkdir()
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.format(here=HERE))
    command = [sys.executable, "-m", "tests.batch.api.schema", str(tmp_path / "crawls"), *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, token = process.stdout.readline().split()
            done = subprocess.run(
                [
                    Path(sys.executable).with_name("schemathesis"),
                    *("--config-file", settings, "run", f"http://127.0.0.1:{port}/v1/openapi.json"),
                    *("--checks", "all", "--phases", "fuzzing", "--mode", "all"),
                    *("--max-examples", str(EXAMPLES), "--seed", SEED, "--request-timeout", "30"),
                    *("--generation-database", "none", "--header", f"Authorization: Bearer {token}"),
                ],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=900,
                check=False,
            )
        finally:
            process.terminate()

    assert done.returncode == 0, done.stdout[-10_000:]
