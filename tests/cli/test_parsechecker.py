"""`scoter parsechecker` on files and fetched pages."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, Run, run_in_process
from tests.long.batch_truth import settings

from scoter.simweb import SimServer, WebSpec, running

ALL = 'parse.parsers=["html","text","feed","zip"]'
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Grey seals</title>
<meta name="robots" content="noarchive"><meta property="og:site_name" content="Seal Watch">
<link rel="canonical" href="/grey"><link rel="alternate" hreflang="da" href="/da"></head>
<body><nav><a href="/">Home</a></nav><main><article><h1>Grey seals</h1><p>The grey seal had all but vanished from these
shores. Since then it has come back, first in small numbers and then in ever larger ones, to the sandbanks.</p>
<p>See the <a href="/map">map</a>, the <a href="/map#again">map</a>, a <a href="photo.jpg">photo</a> or
<a href="/login" rel="nofollow">log in</a>. There is more to say of seals, and it is said elsewhere, at length.</p>
</article></main></body></html>"""
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://a.org/</link>
<item><title>One</title><link>http://a.org/one</link><description>The first.</description></item>
<item><title>Two</title><link>http://a.org/two.jpg</link><description>The second.</description></item>
</channel></rss>"""


def check(folder: Path, name: str, body: str | bytes, *options: str) -> Outcome:
    (folder / name).write_bytes(body.encode() if isinstance(body, str) else body)
    return run_in_process(folder, "parsechecker", name, *options)


def as_json(folder: Path, name: str, body: str | bytes, *options: str) -> dict[str, Any]:
    shown = check(folder, name, body, "--json", *options)
    found: dict[str, Any] = json.loads(shown.out)
    return found


def test_report_covers_type_to_signatures(tmp_path: Path) -> None:
    shown = check(tmp_path, "page.html", PAGE, "--as-url", "http://a.org/grey")

    assert (shown.code, shown.err) == (0, "")
    for line in (
        "http://a.org/grey",
        "  type          text/html  (from its first bytes)",
        "  encoding      utf-8  (from a meta element)",
        "  title         Grey seals",
        "  language      en",
        "  robots        noarchive",
        "  canonical     http://a.org/grey",
        "  site name     Seal Watch  (opengraph)",
        "  da            http://a.org/da",
        "  # Grey seals",
        '  + a     http://a.org/map  "map"',
        "            the page already has this link",
        "            its rel attribute says nofollow",
    ):
        assert line in shown.out.splitlines()
    assert "dropped by the URL filters (suffix: " in shown.out
    assert "(active)" in shown.out
    assert shown.out.splitlines()[1].endswith("links, 3 kept")


def test_json_has_the_whole_page_and_the_outcome_of_each_link(tmp_path: Path) -> None:
    found = as_json(tmp_path, "page.html", PAGE, "--as-url", "http://a.org/grey")

    page = found["page"]
    assert (found["parsed"], found["problem"], found["type"]["media_type"]) == (True, None, "text/html")
    assert found["encoding"]["why"] == "meta"
    assert (page["title"], page["robots"]["noarchive"], page["about"]["site_name"]) == (
        "Grey seals",
        True,
        "Seal Watch",
    )
    assert page["about"]["sources"]["site_name"] == "opengraph"
    assert "come back" in page["main_text"]
    assert page["markdown"].startswith("# Grey seals")
    fates = {(link["url"], link["anchor"]): link["dropped"] or link["kept_as"] for link in page["links"]}
    assert fates[("http://a.org/map", "map")] == "repeated"
    assert fates[("http://a.org/photo.jpg", "photo")] == "filtered"
    assert fates[("http://a.org/login", "log in")] == "nofollow"
    assert fates[("http://a.org/", "Home")] == "http://a.org/"
    assert set(found["signatures"]) >= {"md5", "text-profile", "simhash"}
    assert found["timings"]["parse"] > 0


def test_links_over_the_limit_differ_from_filtered_links(tmp_path: Path) -> None:
    body = "".join(f'<a href="/{number}">x</a>' for number in range(5))

    found = as_json(tmp_path, "page.html", body, "--as-url", "http://a.org/", "-D", "db.max_outlinks_per_page=3")

    assert [link["dropped"] for link in found["page"]["links"]] == [None] * 3 + ["too_many"] * 2


@pytest.mark.parametrize(
    ("option", "expected"),
    [("--dump-text", "Home\nGrey seals\n"), ("--markdown", "# Grey seals\n"), ("--main-text", "Grey seals\n")],
)
def test_text_options_print_only_the_text(tmp_path: Path, option: str, expected: str) -> None:
    shown = check(tmp_path, "page.html", PAGE, option)

    assert shown.code == 0
    assert shown.out.startswith(expected)
    assert "elsewhere, at length" in shown.out
    assert "md5" not in shown.out


def test_text_is_shown_even_if_a_crawl_does_not_store_it(tmp_path: Path) -> None:
    shown = check(tmp_path, "page.html", PAGE, "--dump-text", "-D", "parse.store_text=false")

    assert shown.out.startswith("Home\nGrey seals\n")


def test_command_line_can_turn_off_metadata_and_markdown(tmp_path: Path) -> None:
    off = ("-D", "parse.metadata=false", "-D", "parse.markdown=false", "-D", "parse.main_text=false")

    page = as_json(tmp_path, "page.html", PAGE, *off)["page"]

    assert (page["about"], page["markdown"], page["main_text"]) == (None, "", "")


def test_inner_documents_are_listed_as_kept_or_dropped(tmp_path: Path) -> None:
    shown = check(tmp_path, "feed.xml", FEED, "-D", ALL, "--as-url", "http://a.org/feed")

    assert shown.code == 0
    assert "Inner documents (2 found, 1 kept)" in shown.out
    assert "  + http://a.org/one" in shown.out
    assert "  - http://a.org/two.jpg" in shown.out


def test_texts_of_inner_documents_are_printed_under_their_urls(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "words of a")

    shown = check(tmp_path, "x.zip", packed.getvalue(), "-D", ALL, "--dump-text", "--as-url", "http://a.org/x.zip")

    assert "--- http://a.org/x.zip\n" in shown.out
    assert shown.out.endswith("--- http://a.org/x.zip!/a.txt\nwords of a\n")


def test_page_cannot_send_control_characters_to_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[2J\x9b31m\x07\u202e\r\x08"
    body = (
        f'<title>a{evil}b</title><meta name="description" content="c{evil}d"><h1>e{evil}f</h1><p>g{evil}h</p>'
        f'<a href="/i{evil}j" rel="k{evil}l">m{evil}n</a>'
    )

    for options in ((), ("--dump-text",), ("--markdown",)):
        shown = check(tmp_path, "evil.html", body, "--as-url", "http://a.org/", *options)

        assert shown.code == 0
        assert not {each for each in shown.out + shown.err if not each.isprintable()} - {"\n"}


def test_zero_width_joiners_are_kept(tmp_path: Path) -> None:
    word = "می\u200cخواهم"

    assert word in check(tmp_path, "x.html", f"<p>{word}</p>", "--dump-text").out


def test_media_type_can_be_forced(tmp_path: Path) -> None:
    shown = check(tmp_path, "page.html", PAGE, "--force-as", "text/plain")

    assert "  type          text/plain  (from --force-as)" in shown.out
    assert "<!DOCTYPE html>" in shown.out


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("noise.bin", bytes(range(256)) * 8, "no active parser reads this type (application/octet-stream)"),
        ("page.html", b"<p>" * 200_000, "parsing timed out"),
    ],
)
def test_parse_failure_is_explained_with_exit_code_1(tmp_path: Path, name: str, body: bytes, said: str) -> None:
    shown = check(tmp_path, name, body, "-D", "parse.timeout=50ms")
    alone = check(tmp_path, name, body, "-D", "parse.timeout=50ms", "--dump-text")

    assert shown.code == 1
    assert f"not parsed: {said}" in shown.out
    assert (alone.code, alone.out) == (1, "")
    assert said in alone.err


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"<", b"\x00" * 300, b"<title>", b"&#xD800;<p>\xed\xa0\x80"])
def test_arbitrary_bytes_do_not_crash(tmp_path: Path, body: bytes) -> None:
    assert check(tmp_path, "page.html", body).code in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.html"], "missing.html"),
        (["example.org"], "write https://example.org"),
        (["."], "cannot be read"),
        (["http://"], "not a URL"),
        (["page.html", "--as-url", "nowhere"], "not a URL"),
        (["page.html", "--force-as", "html"], "not a media type"),
        (["page.html", "--follow-redirects"], "--follow-redirects"),
        (["page.html", "--check-robots"], "--check-robots"),
        (["http://a.org/", "--as-url", "http://b.org/"], "--as-url"),
        (["http://a.org/"], "agent.name"),
        (["page.html", "-D", "parse.main_text=magic"], "parse.main_text"),
        ([], "pass a URL"),
    ],
)
def test_usage_error_prints_one_message(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "page.html").write_text(PAGE)

    shown = run_in_process(tmp_path, "parsechecker", *arguments)

    assert (shown.code, shown.out) == (2, "")
    assert said in shown.err
    assert "Traceback" not in shown.err


def test_documents_listed_on_stdin_are_checked_one_after_the_other(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>seals</p>")
    (tmp_path / "b.html").write_text("<p>gulls</p>")

    both = run("parsechecker", "--stdin", "--dump-text", stdin="a.html\nb.html\n")
    neither = run("parsechecker")

    assert (both.code, both.out) == (0, "seals\ngulls\n")
    assert (neither.code, neither.err.splitlines()[0]) == (2, "scoter: pass a URL, a file, or --stdin")


def test_dash_reads_stdin(run: Run) -> None:
    shown = run("parsechecker", "-", "--as-url", "http://a.org/", "--dump-text", stdin="<p>words</p>")

    assert (shown.code, shown.out) == (0, "words\n")


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WebSpec(seed=5, hosts=2, pages=60, page_bytes=2_000)) as server:
        yield server


def fetched(folder: Path, web: SimServer, url: str, *options: str) -> Outcome:
    said = [each for setting in settings(web.port) for each in ("-D", setting)]
    return run_in_process(folder, "parsechecker", url, *said, *options)


def test_refused_request_has_no_document_section(tmp_path: Path) -> None:
    shown = run_in_process(tmp_path, "parsechecker", "http://127.0.0.1:9/x", "--agent", "examplebot")

    assert shown.code == 1
    assert "not fetched: refused port" in shown.out
    assert "Document" not in shown.out


def test_page_is_fetched_after_its_robots_txt(tmp_path: Path, web: SimServer) -> None:
    shown = fetched(tmp_path, web, "http://www.lapwing0.test/", "--check-robots")

    assert shown.code == 0
    assert "  response      HTTP 200 from 127.0.0.1" in shown.out
    assert "(from the Content-Type header)" in shown.out
    assert "  robots.txt    allowed" in shown.out
    assert "group: " in shown.out
    assert "  fetch         " in shown.out
    assert [entry.path for entry in web.ledger.requests()][-2:] == ["/robots.txt", "/"]


def test_redirects_are_followed_on_request(tmp_path: Path, web: SimServer) -> None:
    url = "http://blog.lapwing0.test/moved/chain-2"

    left = fetched(tmp_path, web, url)
    followed = fetched(tmp_path, web, url, "--follow-redirects")
    found = json.loads(fetched(tmp_path, web, url, "--follow-redirects", "--json").out)

    assert left.code == 1
    assert "redirect (HTTP 30" in left.out
    assert "/moved/chain-3" in left.out
    assert "To follow it, use --follow-redirects." in left.out
    assert followed.code == 0
    assert followed.out.startswith("http://blog.lapwing0.test/moved/here.html\n")
    assert [hop["url"].rpartition("/")[2] for hop in found["hops"]] == ["chain-2", "chain-3"]
    assert found["url"] == "http://blog.lapwing0.test/moved/here.html"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/private/closed.html", "not fetched: robots denied: line "),
        ("/old/7.html", "not fetched: not found, HTTP 404"),
    ],
)
def test_fetch_failure_is_explained_with_exit_code_1(tmp_path: Path, web: SimServer, path: str, said: str) -> None:
    shown = fetched(tmp_path, web, f"http://blog.lapwing0.test{path}")

    assert shown.code == 1
    assert said in shown.out
    asked = [entry.path for entry in web.ledger.requests()][-1]
    assert asked == ("/robots.txt" if "private" in path else path)


def test_refresh_redirect_is_reported(tmp_path: Path, web: SimServer) -> None:
    shown = fetched(tmp_path, web, "http://www.lapwing0.test/refresh/now.html")

    assert shown.code == 0
    assert "a redirect: the page's links" in " ".join(shown.out.split())


def test_file_name_that_is_not_utf_8_is_printed_as_json(tmp_path: Path) -> None:
    assert "\ufffd.html" in as_json(tmp_path, os.fsdecode(b"\xff.html"), PAGE)["asked"]


@pytest.mark.parametrize("name", ["text-md5", "text-profile"])
def test_pages_that_differ_only_in_their_titles_are_no_duplicates(tmp_path: Path, name: str) -> None:
    def signature(title: str) -> str:
        body = f"<title>{title}</title><p>Nothing yet.</p>"
        found: str = as_json(tmp_path, "page.html", body, "--as-url", "http://a.org/")["signatures"][name]
        return found

    assert signature("Seals") == signature("Seals")
    assert signature("Seals") != signature("Walruses")
