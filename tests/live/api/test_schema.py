"""Schemathesis generates requests from the OpenAPI document, checks every response against it, and finds nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "12"))  # for longer runs by hand
SEED = os.environ.get("SCHEMATHESIS_SEED", "1")

# Which statuses count as accepted, and which as refused. In addition to the usual ones:
# - 413 and 431 for both: a schema cannot express the size of a body or head in bytes;
# - 404 for both: an unknown URL or key;
# - 409 for accepted ones: an ID that another message has;
# - no 5xx, which Schemathesis would accept for either.
SETTINGS = """
hooks = "{here}/formats.py"

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "404", "409", "413", "431"]

[checks.negative_data_rejection]
expected-statuses = ["400", "404", "405", "413", "415", "422", "431"]
"""


@contextmanager
def openapi(*options: str) -> Iterator[tuple[str, str]]:
    """Serve in a separate process; yield the document's URL and an admin token."""
    command = [sys.executable, "-m", "tests.live.api.schema", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port, token = process.stdout.readline().split()
            yield f"http://127.0.0.1:{port}/v1/openapi.json", token
        finally:
            process.terminate()


# The coverage phase takes longest, and finds the same with keys as without.
@pytest.mark.parametrize(
    ("options", "phases"),
    [((), "fuzzing,stateful"), (("keys",), "coverage,fuzzing,stateful")],
    ids=["without keys", "with keys"],
)
def test_generated_requests_get_the_responses_of_the_openapi_document(
    options: tuple[str, ...], phases: str, tmp_path: Path
) -> None:
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.format(here=HERE))
    with openapi(*options) as (document, token):
        done = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                *("--config-file", settings, "run", document),
                *("--checks", "all", "--phases", phases, "--mode", "all"),
                *("--max-examples", str(EXAMPLES), "--seed", SEED, "--request-timeout", "5"),
                *("--generation-database", "none", "--header", f"Authorization: Bearer {token}"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    assert done.returncode == 0, done.stdout[-10_000:]
