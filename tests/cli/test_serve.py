from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.live.service.running import Service, service

from scoter.extras import install_command
from scoter.live.sqlite.database import ServiceDb

AGENT = ("--agent", "serve-test")


def test_service_without_agent_name_does_not_start(run: Run) -> None:
    done = run("serve", "--port", "0")

    assert (done.code, done.out) == (2, "")
    assert "agent.name" in done.err


def test_listening_beyond_loopback_needs_a_key(run: Run) -> None:
    done = run("serve", *AGENT, "--host", "192.0.2.1")

    assert done.code == 2
    assert "API key" in done.err
    assert "Traceback" not in done.err


def test_with_a_key_only_an_unusable_address_prevents_listening(run: Run) -> None:
    run("serve", "--new-key", "somebody")

    done = run("serve", *AGENT, "--host", "192.0.2.1")  # TEST-NET-1 (RFC 5737): on no machine

    assert done.code == 2
    assert "cannot listen on 192.0.2.1" in done.err


def test_unfinished_database_does_not_prevent_start(run: Run, tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "service.sqlite").touch()

    done = run("serve", *AGENT, "--dir", "live", "--host", "192.0.2.1")

    assert done.code == 2
    assert "API key" in done.err


def test_occupied_port_is_reported(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", *AGENT, "--port", str(port))

    assert done.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.err


async def test_second_service_on_a_directory_is_refused_with_the_owner(run_process: Run, tmp_path: Path) -> None:
    import os

    async with ServiceDb(tmp_path / "live" / "service.sqlite"):
        done = run_process("serve", *AGENT, "--port", "0", "--dir", "live")

    assert done.code == 2
    assert str(os.getpid()) in done.err
    assert "Listening" not in done.err


@pytest.mark.parametrize("rate", ["nan", "inf", "0", "-1", "2000000"])
def test_invalid_rate_is_rejected(run: Run, rate: str) -> None:
    done = run("serve", "--new-key", "a client", "--rate", rate)

    assert (done.code, done.out) == (2, "")
    assert "--rate" in done.err


def test_key_is_created_listed_and_revoked(run: Run) -> None:
    made = run("serve", "--new-key", "a client", "--scopes", "read", "--rate", "2.5", "--json")
    key = json.loads(made.out)

    listed = run("serve", "--list-keys", "--json")
    revoked = run("serve", "--revoke-key", key["id"])
    again = run("serve", "--revoke-key", key["id"])
    none = run("serve", "--list-keys")

    assert made.code == listed.code == revoked.code == 0
    assert key["token"].startswith(f"scoter_{key['id']}_")
    assert json.loads(listed.out) == {name: key[name] for name in key if name != "token"}
    assert (key["scopes"], key["rate"], key["name"]) == (["read"], 2.5, "a client")
    assert (again.code, none.code) == (2, 1)


@pytest.mark.parametrize("option", [("--rate", "5"), ("--scopes", "read")])
def test_key_options_are_rejected_without_new_key(run: Run, option: tuple[str, str]) -> None:
    done = run("serve", *AGENT, "--host", "192.0.2.1", "--without-keys", *option)

    assert (done.code, done.out) == (2, "")
    assert done.err == f"scoter: {option[0]}: can only be used with --new-key\nSee scoter serve --help\n"


def test_scopes_may_be_repeated(run: Run) -> None:
    made = run("serve", "--new-key", "x", "--scopes", "submit", "--scopes", "read,submit", "--json")

    assert json.loads(made.out)["scopes"] == ["submit", "read"]


def test_unknown_scope_is_reported(run: Run) -> None:
    done = run("serve", "--new-key", "x", "--scopes", "raed")

    assert done.code == 2
    assert "Did you mean read?" in done.err


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("serve") / "live", 9, "live.lookups=2") as found:
        yield found


TARGET = "/v1/urls?url=http%3A%2F%2Fa.test%2F"


def test_keys_can_be_created_and_revoked_while_the_service_runs(run: Run, running: Service) -> None:
    made = run("serve", "--dir", running.folder, "--new-key", "dashboard", "--scopes", "read,admin")
    key = f"Bearer {made.out.strip()}"
    before = [running.ask("GET", TARGET, key=key).status for _ in range(6)]  # over both lookup processes
    listed = running.ask("GET", "/v1/keys", key=key)
    (found,) = (each for each in listed.json["keys"] if each["name"] == "dashboard")

    revoked = run("serve", "--dir", running.folder, "--revoke-key", found["id"])
    after = [running.ask("GET", TARGET, key=key).status for _ in range(6)]

    assert (made.code, revoked.code) == (0, 0)
    assert (before, listed.status, after) == ([404] * 6, 200, [401] * 6)


def test_api_key_is_valid_in_every_process_until_revoked(run: Run, running: Service) -> None:
    owner = f"Bearer {run('serve', '--dir', running.folder, '--new-key', 'owner', '--scopes', 'admin').out.strip()}"
    made = running.ask("POST", "/v1/keys", {"name": "x", "scopes": ["read"]}, key=owner).json
    key = f"Bearer {made['token']}"
    before = [running.ask("GET", TARGET, key=key).status for _ in range(6)]

    revoked = running.ask("DELETE", f"/v1/keys/{made['id']}", key=owner)
    after = [running.ask("GET", TARGET, key=key).status for _ in range(6)]

    assert (before, revoked.status, after) == ([404] * 6, 200, [401] * 6)


def test_single_role_needs_the_cluster_backend(run: Run, tmp_path: Path) -> None:
    done = run("serve", *AGENT, "--role", "worker", "--dir", "live")

    assert (done.code, done.out) == (2, "")
    assert 'live.backend = "cluster"' in done.err
    assert not (tmp_path / "live").exists()


def test_cluster_backend_needs_a_role(run: Run) -> None:
    done = run("serve", *AGENT, "-D", "live.backend=cluster")

    assert (done.code, done.out) == (2, "")
    assert "--role api, --role pipeline and --role worker" in done.err


def test_cluster_without_its_packages_names_the_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import scoter.live.kafka.kafka as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    done = run("serve", *AGENT, "-D", "live.backend=cluster", "--role", "api")

    assert (done.code, done.out) == (2, "")
    assert install_command("cluster") in done.err


def test_unreadable_password_file_is_reported_by_name(run: Run) -> None:
    options = ("-D", "live.backend=cluster", "-D", "cassandra.username=a", "-D", "cassandra.password_file=missing.txt")
    done = run("serve", *AGENT, *options, "--role", "api", "--list-keys")

    assert (done.code, done.out) == (2, "")
    assert "missing.txt" in done.err


def test_former_names_of_options_and_roles_warn(run: Run) -> None:
    done = run("serve", *AGENT, "--role", "fetcher", "--fetchers", "2")
    both = run("serve", *AGENT, "--fetchers=2", "--workers", "3")

    assert (done.code, both.code) == (2, 2)
    assert "--fetchers is now --workers." in done.err
    assert "--role fetcher is now --role worker." in done.err
    assert "--role worker: a single part of the service needs" in done.err
    assert "--fetchers: is now --workers, which is given too" in both.err


def test_former_names_of_options_and_roles_are_not_in_the_help(run: Run) -> None:
    shown = run("serve", "--help").out + run("generate", "--help").out

    assert "[all|api|pipeline|worker]" in shown
    assert "fetcher" not in shown


@pytest.mark.parametrize("role", ["worker", "fetcher"])
def test_worker_says_that_it_is_not_the_pipeline(run: Run, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    import scoter.live.kafka.kafka as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)  # it does not start
    done = run("serve", *AGENT, "-D", "live.backend=cluster", "--role", role)
    other = run("serve", *AGENT, "-D", "live.backend=cluster", "--role", "pipeline")

    assert "--role worker fetches; the pipeline is --role pipeline." in done.err
    assert "--role worker fetches" not in other.err
