"""Refusals that a setting decides: when they are due again, and what would allow them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawl_at, datum, write_crawldb, write_segment
from tests.batch.making import DAY, NOW, fetch, known, make_crawl, make_segment

from scoter.batch.crawldir.causes import causes
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.explain import explain, summarize
from scoter.batch.jobs.generate import GenerateOptions, generate
from scoter.batch.urls.refusals import REFUSED, TRUNCATED, note_settings, refusal_marks, remedy
from scoter.config import Config, load
from scoter.engine import Engine

A, B = "http://a.org/", "http://a.org:8000/"
LATER = NOW + 20 * DAY


def settings(*overrides: str) -> Config:
    return load(None, {}, overrides)


def refused(url: str, reason: str, config: Config, status: str = "unfetched", **columns: Any) -> dict[str, Any]:
    metadata = {REFUSED: refusal_marks(config)[reason], **columns.pop("metadata", {})}
    return known(url, status, fetch_time=LATER, metadata=metadata, **columns)


def generated(crawl: CrawlDir, engine: Engine, config: Config) -> dict[str, dict[str, Any]]:
    """Return the records in the fetch list that is generated."""
    done = generate(crawl, engine, config, now=NOW, options=GenerateOptions(lists=1))
    parts = [crawl.segment(name).crawl_generate() for name in done.segments]
    return {row["url"]: row for part in parts for batch in part.scan() for row in batch.to_pylist()}


@pytest.mark.parametrize(
    ("reason", "status", "change"),
    [
        ("refused_port", "unfetched", 'fetch.allow_hosts=["a.org:8000"]'),
        ("refused_port", "gone", "fetch.allow_ports=[80, 8000]"),
        ("refused_address", "unfetched", 'fetch.allow_networks=["10.0.0.0/8"]'),
        ("refused_scheme", "unfetched", 'fetch.protocols=["http", "ftp"]'),
        ("robots_denied", "gone", "agent.name=otherbot"),
        ("crawl_delay", "gone", "fetch.long_crawl_delay=cap"),
        (TRUNCATED, "fetched", "fetch.content_limit=2MiB"),
    ],
)
def test_refused_url_is_due_as_if_new_once_the_setting_has_changed(
    tmp_path: Path, engine: Engine, reason: str, status: str, change: str
) -> None:
    before, after = settings(), settings(change)
    crawl = make_crawl(tmp_path / "crawl", [refused(B, reason, before, status, retries=2), known(A, fetch_time=LATER)])

    unchanged = generated(crawl, engine, before)
    changed = generated(crawl, engine, after)

    assert unchanged == {}
    assert {url: row["retries"] for url, row in changed.items()} == {B: 0}
    assert changed[B]["fetch_time"] == NOW


def test_other_settings_do_not_make_a_refused_url_due(tmp_path: Path, engine: Engine) -> None:
    before = settings()
    crawl = make_crawl(tmp_path / "crawl", [refused(B, "refused_port", before), refused(A, "robots_denied", before)])
    generated(crawl, engine, before)

    changed = generated(crawl, engine, settings("fetch.delay=1s", "fetch.content_limit=2MiB", "agent.name=otherbot"))

    assert set(changed) == {A}


def test_truncated_page_is_requested_without_validators(tmp_path: Path, engine: Engine) -> None:
    before = settings()
    page = refused(A, TRUNCATED, before, "fetched", metadata={"ETag": '"1"', "k": "v"})
    crawl = make_crawl(tmp_path / "crawl", [page])
    note_settings(crawl, before)

    row = generated(crawl, engine, settings("fetch.content_limit=off"))[A]

    assert dict(row["metadata"]) == {**page["metadata"], "ETag": "", "Last-Modified": "", "Archived": ""}


def test_records_are_looked_at_only_once_settings_have_changed(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl")

    assert note_settings(crawl, settings()) == frozenset()
    assert note_settings(crawl, settings()) == frozenset()
    assert note_settings(crawl, settings("fetch.content_limit=2MiB"))
    assert note_settings(crawl, settings()) == frozenset(refusal_marks(settings()).values())


@pytest.mark.parametrize(
    ("reason", "url", "detail", "setting", "words"),
    [
        ("refused_port", B, "", "fetch.allow_hosts", (B,)),
        ("refused_address", "http://wiki.corp/", "", "fetch.allow_hosts", ("http://wiki.corp/",)),
        ("refused_address", "http://169.254.169.254/", "169.254.169.254 is not public: metadata service", None, ()),
        (
            "refused_address",
            "http://wiki.example.com/",
            "wiki.example.com resolves to 10.1.2.3, which is not public: private",
            "fetch.allow_networks",
            ("-D", 'fetch.allow_networks=["10.1.2.3"]'),
        ),
        (
            "refused_address",
            "http://metadata.example.com/",
            "metadata.example.com resolves to 169.254.169.254, which is not public: metadata service",
            None,
            (),
        ),
        ("refused_scheme", "ftp://a.org/", "", "fetch.protocols", ("-D", 'fetch.protocols=["http", "ftp"]')),
        ("robots_denied", A, "", "http.robot_rules_allowlist", ()),
        (
            *("robots_denied", "http://wiki.corp/", "", "http.robot_rules_allowlist"),
            ("-D", 'http.robot_rules_allowlist=["wiki.corp"]'),
        ),
        (TRUNCATED, A, "", "fetch.content_limit", ("-D", "fetch.content_limit=10MiB")),
        ("crawl_delay", A, "", "fetch.long_crawl_delay", ("-D", "fetch.long_crawl_delay=wait")),
    ],
)
def test_refusal_names_the_setting_and_a_command(
    reason: str, url: str, detail: str, setting: str | None, words: tuple[str, ...]
) -> None:
    found = remedy(reason, url, detail, settings())

    assert found is not None
    assert found.words == words
    assert found.setting == (setting or "fetch.allow_networks")
    assert bool(found.command("my crawl")) == bool(words)
    if words[:1] == ("-D",):
        settings(words[1])  # it is valid


def test_what_the_web_refuses_has_no_remedy() -> None:
    assert remedy("not_found", A, "", settings()) is None


def test_explain_says_that_a_changed_setting_makes_a_url_due(tmp_path: Path) -> None:
    before, after = settings(), settings("fetch.allow_ports=[80, 8000]")
    crawl = crawl_at(tmp_path / "crawl")
    metadata = {REFUSED: refusal_marks(before)["refused_port"]}
    record = datum(B, "unfetched", fetch_time=LATER, retries=1, metadata=metadata)
    write_crawldb(crawl, [record], applied=["1"])
    write_segment(crawl, "1", fetches=[datum(B, "retry", reason="refused_port", detail="port 8000", http_status=None)])

    refusing, allowing = (summarize(explain(crawl, config, B, now=NOW), NOW) for config in (before, after))

    assert refusing.endswith("; to allow it: fetch.allow_hosts")
    assert "due, because a setting has changed since" in allowing
    assert "to allow it" not in allowing


def test_causes_count_reasons_and_put_those_of_settings_first(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl")
    rows = [fetch(f"http://a.org/{number}", "gone", reason="not_found") for number in range(3)]
    rows += [fetch(B, "retry", reason="refused_port", detail="port 8000"), fetch(A)]
    segment = make_segment(crawl, "1", fetches=rows)

    found = causes([segment], settings())

    assert [(each.reason, each.urls, each.setting) for each in found] == [
        ("refused_port", 1, "fetch.allow_hosts"),
        ("not_found", 3, ""),
    ]
    assert (found[0].url, found[0].detail) == (B, "port 8000")


def test_causes_count_truncated_pages_and_what_filters_dropped(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("-secret\n+.\n")
    config = settings('urlfilter.filters=["regex"]', f"urlfilter.regex_file={tmp_path / 'rules'}")
    crawl = make_crawl(tmp_path / "crawl")
    segment = make_segment(crawl, "1", fetches=[fetch(A, truncated="length"), fetch(B)])

    cut, filtered = causes([segment], config, filtered=3, example="http://a.org/secret")

    assert (cut.reason, cut.urls, cut.setting) == (TRUNCATED, 1, "fetch.content_limit")
    assert (filtered.reason, filtered.urls, filtered.setting) == ("filtered", 3, "urlfilter.regex_file")
    assert filtered.detail.startswith("regex: line 1")
