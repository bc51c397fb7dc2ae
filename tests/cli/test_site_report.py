"""The report `site`: the whole way from a crawl of a faulty site to what a person sees."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.batch.site.archived_site import make_site
from tests.batch.site.faulty_site import CHECKED, EXPECTED, FaultySite, serving
from tests.cli.conftest import Run

A = "https://a.example"
EVIL = '</title><script>alert("1")</script>\u202e<img src=x onerror=alert(2)>'


@pytest.fixture
def site() -> Iterator[FaultySite]:
    with serving() as found:
        yield found


def problems(run: Run, site: FaultySite, *options: str) -> dict[str, set[tuple[str, ...]]]:
    """Return the problems that the report shows, in the form of the expected ones."""
    done = run("report", "crawl", "site", *options, "--json", *site.settings)
    assert done.code == 0, done.err
    found: dict[str, set[tuple[str, ...]]] = {}
    for row in map(json.loads, done.out.splitlines()):
        expected = CHECKED.get(row["problem"], set())
        is_short = all(len(each) == 1 for each in expected)
        shown = [(row[name] or "").replace(site.origin, "") for name in ("url", "page", "text")]
        shown[0] = shown[0].replace(site.other, "OTHER").replace(site.closed, "CLOSED")
        found.setdefault(row["problem"], set()).add(tuple(shown[:1] if is_short else shown))
    return found


def compare(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    for name in sorted({*found, *expected}):
        assert found.get(name, set()) == expected.get(name, set()), name


@pytest.mark.slow
def test_a_default_crawl_and_a_check_find_what_a_person_finds(run: Run, run_process: Run, site: FaultySite) -> None:
    done = run_process("crawl", "crawl", f"{site.origin}/", *site.settings, "--rounds", "20", "--scope", "host")
    assert done.code == 0, done.err

    compare(problems(run, site), EXPECTED)
    asked = len(site.requests)
    compare(problems(run, site, "--check-links"), CHECKED)
    checks = site.requests[asked:]
    # Nobody was asked twice, except after an error to HEAD; nor for what robots.txt forbids or a form sends.
    assert len(checks) == len(set(checks))
    assert {path for method, _, path in checks if method == "GET"} >= {"/no-head", "/style.css", "/more.css"}
    assert not {"/private/x", "/never-asked"} & {path for *_, path in checks}
    # What worked is known now; what failed is asked for again.
    asked = len(site.requests)
    site.pages["/missing.png"] = site.pages["/seal.png"]
    again = problems(run, site, "--check-links")
    assert {path for _, _, path in site.requests[asked:]}.isdisjoint({"/seal.png", "/no-head", "/fine"})
    assert CHECKED["broken-resources"] - again["broken-resources"] == {("/missing.png", "/", "missing")}
    failed = run("report", "crawl", "site", "--fail-on", "broken", *site.settings)
    assert failed.code == 1
    assert "Failed because of --fail-on: " in failed.err
    assert run("report", "crawl", "site", "--fail-on", "mixed-content,hreflang-errors", *site.settings).code == 1
    assert run("report", "crawl", "site", "--fail-on", "mixed-content", *site.settings).code == 0


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    home = f'<title>{escape(EVIL)}</title><a href="/gone?x">{escape(EVIL)}</a>'
    pages = {f"{A}/": home, f"{A}/gone?x": 404}
    return make_site(tmp_path / "crawl", segments=[pages], seeds=[f"{A}/"]).path


def test_summary_and_rows(run: Run, crawl: Path) -> None:
    summary = run("report", crawl, "site")
    rows = run("report", crawl, "site", "missing-headings", "--csv")
    every = [json.loads(line) for line in run("report", crawl, "site", "--json").out.splitlines()]

    assert summary.out.startswith("1 page on 1 host, 1 link to 1 URL.\n")
    assert "missing-descriptions" in summary.out
    assert rows.out.startswith("url,page,text,detail\nhttps://a.example/,")
    assert {each["problem"] for each in every} >= {"missing-headings", "missing-descriptions", "missing-languages"}
    assert len(run("report", crawl, "site", "--json", "--limit", "1").out.splitlines()) == 1


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_page_escapes_everything_and_allows_only_its_own_script(run: Run, crawl: Path, tmp_path: Path) -> None:
    done = run("report", crawl, "site", "--html", "health.html")

    text = (tmp_path / "health.html").read_text()
    found = _Tags(text)
    assert (done.code, done.out, done.err) == (0, "", "Wrote health.html\n")
    assert found.tags.count("script") == 1
    assert not {"img", "iframe", "object"} & set(found.tags)
    assert not {"src", "onerror"} & found.attributes
    assert "default-src 'none'" in text
    assert "script-src 'sha256-" in text
    assert "\u202e" not in text
    assert text.index('id="broken-links"') < text.index('id="missing-headings"')
    assert "Looked for, and not found" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["site", "broken-link"], "there is no problem 'broken-link'; did you mean 'broken-links'?"),
        (["site", "--fail-on", "bad"], "'bad' is no kind of problem"),
        (["site", "--start", "x y"], "'x y' is not a URL"),
        (["site", "--day", "today"], "site takes no days"),
        (["site", "orphans", "--html", "x.html"], "--html shows all problems"),
        (["statuses", "--fail-on", "broken"], "belong to the report `site`"),
        (["largest", "--check-links"], "belong to the report `site`"),
    ],
)
def test_wrong_use_says_what_to_do(run: Run, crawl: Path, arguments: list[str], message: str) -> None:
    done = run("report", crawl, *arguments)

    assert (done.code, done.out) == (2, "")
    assert message in done.err
