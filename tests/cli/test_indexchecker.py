"""`scoter indexchecker` on files and fetched pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, Run, run_in_process
from tests.long.batch_truth import settings

from scoter.simweb import WebSpec, running

PAGE = """<!DOCTYPE html><html lang="en-GB"><head><title>Grey seals</title>
<meta name="description" content="All about seals"></head>
<body><h1>Seals of the north</h1><p>The grey seal has come back to these shores.</p></body></html>"""
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://a.org/</link>
<item><title>One</title><link>http://a.org/one</link><description>The first.</description></item>
<item><title>Two</title><link>http://a.org/two.jpg</link><description>The second.</description></item>
</channel></rss>"""


def check(folder: Path, body: str | bytes, *options: str) -> Outcome:
    (folder / "page.html").write_bytes(body.encode() if isinstance(body, str) else body)
    return run_in_process(folder, "indexchecker", "page.html", "--as-url", "http://a.org/grey", *options)


def documents(folder: Path, body: str | bytes, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(check(folder, body, "--json", *options).out)["documents"]
    return found


def test_each_field_is_shown_with_the_filter_that_set_it(tmp_path: Path) -> None:
    shown = check(tmp_path, PAGE, "-D", "parse.metadata=true", "--anchor", "our seals")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[0] == "http://a.org/grey"
    for line in (
        "  title         Grey seals  (basic)",
        "  content       Seals of the north The grey seal has come back to these shores.  (basic)",
        "  anchor        our seals  (anchor)",
        "  type          text/html | text | html  (more)",
        "  lang          en  (language)",
        "  heading       Seals of the north  (about)",
        "  description   All about seals  (about)",
        "  language      sets lang",
    ):
        assert line in shown.out.splitlines()


def test_filters_that_change_a_field_are_named_in_order(tmp_path: Path) -> None:
    options = ("-D", 'index.filters=["basic","static"]', "-D", 'index.static=["title:Constant","source:blog"]')

    (document,) = documents(tmp_path, PAGE, *options)

    assert document["fields"]["title"] == ["Constant"]
    assert document["set_by"]["title"] == ["basic", "static"]
    assert document["set_by"]["source"] == ["static"]
    assert document["filters"][1] == {
        "filter": "static",
        "set": ["source"],
        "changed": ["title"],
        "removed": [],
        "dropped": False,
    }
    assert "  title         Constant  (basic, then static)" in check(tmp_path, PAGE, *options).out.splitlines()


def test_seed_metadata_can_be_given(tmp_path: Path) -> None:
    options = ("-D", 'index.filters=["basic","metadata"]', "-D", 'index.db_md=["team"]', "--md", "team=north")

    assert documents(tmp_path, PAGE, *options)[0]["fields"]["team"] == ["north"]


@pytest.mark.parametrize(
    ("body", "option", "why"),
    [
        (PAGE, 'lang.index_languages=["de"]', "the filter language leaves it out"),
        ('<html><meta name="robots" content="noindex"><p>Seals', "index.delete_robots_noindex=true", "it says noindex"),
    ],
)
def test_page_that_is_left_out_says_why_with_exit_code_1(tmp_path: Path, body: str, option: str, why: str) -> None:
    shown = check(tmp_path, body, "-D", option)
    (found,) = documents(tmp_path, body, "-D", option)

    assert shown.code == 1
    assert f"not indexed: {why}" in shown.out
    assert (found["indexed"], found["fields"]) == (False, {})
    assert found["why"].startswith(why)


def test_entries_of_a_feed_become_documents_of_their_own(tmp_path: Path) -> None:
    options = ("-D", 'parse.parsers=["html","feed"]', "-D", 'index.filters=["basic","feed"]')

    found = documents(tmp_path, FEED, *options, "-D", "parse.metadata=true")

    assert [each["url"] for each in found] == ["http://a.org/grey", "http://a.org/one"]
    assert found[1]["fields"]["feed"] == ["http://a.org/grey"]


def test_document_is_bounded_and_safe_to_print(tmp_path: Path) -> None:
    body = b"<title>a\x00b\x1b[2J</title><p>" + b"seal " * 400_000

    shown = check(tmp_path, body, "-D", "index.max_content_length=1000000000", "-D", "fetch.content_limit=16MiB")
    (found,) = documents(tmp_path, body, "-D", "index.max_content_length=1000000000")

    assert shown.code == 0
    assert len(shown.out) < 10_000
    assert not {each for each in shown.out if not each.isprintable()} - {"\n"}
    assert len(found["fields"]["content"][0]) <= 2**20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "pass a URL"),
        (["missing.html"], "missing.html"),
        (["page.html", "--md", "team"], "KEY=VALUE"),
        (["page.html", "--force-as", "html"], "not a media type"),
        (["http://a.org/"], "agent.name"),
        (["page.html", "-D", 'index.filters=["basick"]'], "basick"),
        (["page.html", "-D", 'index.writers=["tantvy"]'], "tantvy"),
        (["page.html", "-D", 'index.static=["nothing"]', "-D", 'index.filters=["static"]'], "index.static"),
    ],
)
def test_usage_error_prints_one_message(run: Run, tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "page.html").write_text(PAGE)

    shown = run("indexchecker", *arguments)

    assert (shown.code, shown.out) == (2, "")
    assert said in shown.err
    assert "Traceback" not in shown.err


def test_unreadable_content_is_explained_with_exit_code_1(run: Run, tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)

    shown = run("indexchecker", "noise.bin")

    assert shown.code == 1
    assert "not parsed: no active parser reads this type" in shown.out


def test_page_is_fetched_politely(tmp_path: Path) -> None:
    with running(WebSpec(seed=5, hosts=2, pages=60, page_bytes=2_000)) as web:
        given = [each for setting in settings(web.port) for each in ("-D", setting)]
        url = "http://www.lapwing0.test/"
        shown = run_in_process(tmp_path, "indexchecker", url, "--json", *given)
        missing = run_in_process(tmp_path, "indexchecker", "http://blog.lapwing0.test/old/7.html", *given)
        asked = [entry.path for entry in web.ledger.requests()]

    (document,) = json.loads(shown.out)["documents"]
    assert document["fields"]["host"] == ["www.lapwing0.test"]
    assert document["writers"] == ["tantivy"]
    assert (missing.code, "not fetched: not found, HTTP 404" in missing.out) == (1, True)
    assert asked[:2] == ["/robots.txt", "/"]
