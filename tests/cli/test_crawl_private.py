"""`scoter crawl` of one's own machine: what a typed seed allows, what is recorded, and crawls without seeds."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.local_site import local_site

_OPTIONS = ("--own-site", "-D", "fetch.processes=1", "-D", "store.disk_floor=0B")


def test_typed_seed_allows_its_host_and_port_and_nothing_that_it_leads_to(run: Run, tmp_path: Path) -> None:
    with local_site({"/": "secret"}) as other, local_site({}) as site:
        site.pages = {
            "/": f"<title>Home</title><a href=/moved>a</a><a href='{other.url()}'>b</a><a href=/later>c</a>",
            "/moved": other.url("/admin"),
        }
        first = run("crawl", "docs", site.url(), *_OPTIONS)
        site.pages["/later"] = "<title>Later</title>"
        again = run("crawl", "docs", "--add-days", "60", "--rounds", "1")
        settings = tomllib.loads((tmp_path / "docs" / "settings.toml").read_text())

    assert first.err.startswith(
        f"Allowed because you typed it: localhost:{site.server_port}, and no other private address or port."
    )
    assert (first.code, again.code) == (0, 0)
    assert other.requests == []
    assert site.requests.count("/later") == 2  # the recorded settings allow it, too
    assert settings["fetch"]["allow_hosts"] == [f"localhost:{site.server_port}"]
    assert settings["fetch"]["own_hosts"] == ["localhost"]


@pytest.mark.slow
def test_seed_in_a_file_allows_nothing_unless_asked(run: Run, tmp_path: Path) -> None:
    with local_site({"/": "<title>Home</title>"}) as site:
        (tmp_path / "seeds.txt").write_text(site.url() + "\n")
        refused = run("crawl", "docs", "seeds.txt", "--agent", "gullbot", *_OPTIONS)
        asked_before = len(site.requests)
        allowed = run("crawl", "own", "seeds.txt", "--agent", "gullbot", "--allow-seeds", *_OPTIONS)
        explained = run("explain", "docs", site.url())
        repeated = run("crawl", "docs")
        typed = run("crawl", "docs", site.url())

    assert (refused.code, asked_before) == (1, 0)
    hint = f"scoter crawl docs {site.url()}"
    assert f"refused_port (port {site.server_port} is not in fetch.allow_ports)" in refused.err
    assert f"\n    To allow it (fetch.allow_hosts): {hint}\n" in refused.err
    assert "Failed after" in refused.err
    assert "Finished" not in refused.err
    assert "; to allow it: fetch.allow_hosts\n" in explained.out
    assert explained.out.endswith(f"to allow it   {hint}\n")
    assert repeated.code == 1
    assert hint in repeated.err
    assert ": no page was fetched; nothing is due until " in repeated.err
    assert typed.code == 0
    assert allowed.code == 0
    assert f"Allowed because of --allow-seeds: localhost:{site.server_port}," in allowed.err


def test_public_seed_still_needs_a_name_of_the_crawler(run: Run, tmp_path: Path) -> None:
    done = run("crawl", "docs", "http://localhost:1/", "https://example.org/")

    assert done.code == 2
    assert done.err.endswith(
        "scoter: agent.name: is not set; nothing is fetched without it\nChoose a name, which site owners will see:"
        " scoter crawl docs http://localhost:1/ https://example.org/ --agent examplebot\n"
    )
    assert not (tmp_path / "docs").exists()


def test_crawl_without_seeds_says_how_to_start_one(run: Run, tmp_path: Path) -> None:
    done = run("crawl", "my docs")

    assert done.code == 2
    assert done.err == (
        "scoter: my docs: no such directory, so there is no crawl to continue\n"
        "To start one: scoter crawl 'my docs' https://www.example.org/ --agent examplebot\n"
    )
    assert not (tmp_path / "my docs").exists()


@pytest.mark.parametrize(
    ("seed", "meant"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("localhost/docs", "http://localhost/docs"),
        ("wiki:8080/a", "http://wiki:8080/a"),
        ("www.example.org", "https://www.example.org"),
    ],
)
def test_seed_without_a_scheme_gets_a_suggestion(run: Run, seed: str, meant: str) -> None:
    done = run("crawl", "docs", seed)

    assert done.code == 2
    assert done.err.endswith(f"Did you mean {meant}?\n")
