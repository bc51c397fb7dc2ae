"""Clients that popular generators make from the OpenAPI document work with the service.

``make test-clients`` installs the generators into ``build/clients``.
"""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.api.test_schema import ROOT, openapi

pytestmark = pytest.mark.clients

TOOLS = ROOT / "build" / "clients"

# Run in the generators' environment, with the service's address and a token as arguments.
PYTHON_CLIENT = """
import sys
from datetime import datetime
from scoter_client import AuthenticatedClient
from scoter_client.api.default import (
    get_v1_keys, get_v1_preview, get_v1_urls, post_v1_fetch, post_v1_messages, post_v1_urls_lookup)
from scoter_client.models import (
    FetchOrder, LookupBatch, Missing, PendingUrl, Problem, State, Submission, SubmissionPriority, UrlRecord)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])

message = Submission(urls=["http://c.example/"], priority=SubmissionPriority.PERSON)
receipts = post_v1_messages.sync(client=client, body=message)
assert list(receipts.messages[0].entries.additional_properties) == ["http://c.example/"], receipts
receipts = post_v1_messages.sync(client=client, body=[message, message])
assert len(receipts.messages) == 2, receipts

found = get_v1_urls.sync(client=client, url_query="http://a.example/")
assert isinstance(found, UrlRecord) and found.state is State.OK and isinstance(found.fetched_at, datetime), found
assert isinstance(get_v1_urls.sync(client=client, url_query="http://c.example/"), PendingUrl)
assert isinstance(get_v1_urls.sync(client=client, url_query="http://x.example/"), Problem)
assert get_v1_preview.sync(client=client, url_query="http://a.example/").state is State.OK
batch = LookupBatch(urls=["http://a.example/", "http://x.example/"])
record, missing = post_v1_urls_lookup.sync(client=client, body=batch).results
assert isinstance(record, UrlRecord) and isinstance(missing, Missing), (record, missing)

answer = post_v1_fetch.sync(client=client, body=FetchOrder(url="http://a.example/page"))
assert answer.headers == [["Content-Type", "text/html"]], answer
assert get_v1_keys.sync(client=client).keys[0].name == "schemathesis"
"""

PYDANTIC_MODELS = """
import sys, urllib.request
import models

def ask(path, body=None):
    headers = {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, body, headers)) as reply:
        return reply.read()

message = models.Submission(urls=["http://c.example/"], priority="person")
body = message.model_dump_json(exclude_unset=True).encode()
receipts = models.Receipts.model_validate_json(ask("/v1/messages", body))
assert receipts.messages[0].entries == {"http://c.example/": receipts.messages[0].entries["http://c.example/"]}
found = models.UrlRecord.model_validate_json(ask("/v1/urls?url=http://a.example/"))
assert found.fetched_at.year == 2026, found
order = models.FetchOrder(url="http://a.example/page").model_dump_json(exclude_unset=True).encode()
assert models.FetchAnswer.model_validate_json(ask("/v1/fetch", order)).headers == [["Content-Type", "text/html"]]
models.KeyList.model_validate_json(ask("/v1/keys"))
models.Statistics.model_validate_json(ask("/v1/stats"))
"""

TYPESCRIPT = """
import type { components, paths } from "./api";

const message: components["schemas"]["Submission"] = { text: "https://example.org/", priority: "person" };
// @ts-expect-error only the documented priorities are accepted
const wrong: components["schemas"]["Submission"] = { priority: "urgent" };

type Found = paths["/v1/urls"]["get"]["responses"][200]["content"]["application/json"];
type Refused = paths["/v1/urls"]["get"]["responses"][404]["content"]["application/problem+json"];

export function title(found: Found): string {
  return found.metadata?.title ?? found.resolved;
}

export function why(refused: Refused): string {
  return refused.detail ?? refused.title;
}

export const query: paths["/v1/urls"]["get"]["parameters"]["query"] = { url: "https://example.org/", wait: "5s" };
export { message, wrong };
"""


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, str]]:
    """Yield the address of a service and an admin token."""
    if not (TOOLS / ".ready").exists():
        pytest.skip("the generators are not installed: make test-clients")
    with openapi("keys") as (document, token):
        yield document.removesuffix("/v1/openapi.json"), token


@pytest.fixture
def document(service: tuple[str, str], tmp_path: Path) -> Path:
    """Return a file with the OpenAPI document, as served."""
    file = tmp_path / "openapi.json"
    with urllib.request.urlopen(f"{service[0]}/v1/openapi.json") as reply:
        file.write_bytes(reply.read())
    return file


def run(folder: Path, *command: str | Path) -> None:
    """Run a command with the generators on its path; fail with its output if it fails."""
    path = os.pathsep.join((str(TOOLS / "bin"), str(TOOLS / "node_modules" / ".bin"), os.environ["PATH"]))
    # The environment of the tests must not leak into that of the generators.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"PATH": path}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-5_000:]}\n{done.stderr[-5_000:]}"


def run_python(folder: Path, code: str, service: tuple[str, str]) -> None:
    script = folder / "use.py"
    script.write_text(code)
    run(folder, TOOLS / "bin" / "python", script, *service)


def test_client_of_openapi_python_client_works(service: tuple[str, str], document: Path, tmp_path: Path) -> None:
    run(
        tmp_path,
        *("openapi-python-client", "generate", "--path", document, "--fail-on-warning"),
        *("--meta", "none", "--output-path", tmp_path / "scoter_client"),
    )

    run_python(tmp_path, PYTHON_CLIENT, service)


def test_models_of_datamodel_codegen_accept_the_responses(
    service: tuple[str, str], document: Path, tmp_path: Path
) -> None:
    run(
        tmp_path,
        *("datamodel-codegen", "--input", document, "--input-file-type", "openapi"),
        *("--output-model-type", "pydantic_v2.BaseModel", "--output", tmp_path / "models.py"),
    )

    run_python(tmp_path, PYDANTIC_MODELS, service)


def test_types_of_openapi_typescript_describe_the_api(document: Path, tmp_path: Path) -> None:
    (tmp_path / "use.ts").write_text(TYPESCRIPT)

    run(tmp_path, "openapi-typescript", document, "--output", tmp_path / "api.d.ts")

    run(tmp_path, "tsc", "--noEmit", "--strict", "--target", "es2022", "--moduleResolution", "bundler",
        "--module", "es2022", "use.ts")  # fmt: skip
