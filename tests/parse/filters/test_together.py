"""The parse filters over a page that the HTML parser has read, in one chain; docs/parse-filters.md shows the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.parse.filters.pages import content, written

from scoter.config import Config, load, plugin_settings
from scoter.core.page import Page
from scoter.parse import ContentParser, Parsed
from scoter.parse.filters.creativecommons import CreativeCommonsFilter
from scoter.parse.filters.language import LanguageFilter
from scoter.parse.filters.naivebayes import NaiveBayesFilter
from scoter.parse.filters.page_fields import HeadingsFilter, MetatagsFilter, ReltagFilter
from scoter.parse.filters.regex import RegexFilter
from scoter.parse.parser_process import HEAD, frame, outcome
from scoter.parse.parsers import HtmlParser
from scoter.plugins import Setup

BODY = """<!DOCTYPE html>
<html lang="en_GB">
<title>Grey seals</title>
<meta name="description" content="Where grey seals live.">
<meta name="Keywords" content="seals, sandbanks">
<h1>Grey seals</h1>
<h2>Where they live</h2>
<p>Grey seals give birth on the sandbanks in winter. Boat trips from EUR 25.</p>
<h2>What they eat</h2>
<p>Mostly sand eels. <a rel="tag" href="/tag/grey+seals/">grey seals</a></p>
<p><a rel="license" href="http://creativecommons.org/licenses/by-nc/3.0/de/deed.en">CC BY-NC</a></p>
"""
CONFIG = """
[parse]
filters = ["headings", "metatags", "language", "regex", "creativecommons", "reltag", "naivebayes"]
headings_multivalued = true

[plugin.parsefilter-regex]
file = "fields.txt"

[plugin.parsefilter-naivebayes]
train_file = "train.txt"
word_file = "words.txt"
"""
FIELDS = r"""
has_trips  text  (?i)boat\strips
price      text  EUR\s([0-9]+)  $1
"""
TRAINING = "1\tSeals rest on sandbanks and give birth in winter\n0\tGet your casino bonus today\n"
ALL = {
    "headings": HeadingsFilter,
    "metatags": MetatagsFilter,
    "language": LanguageFilter,
    "regex": RegexFilter,
    "creativecommons": CreativeCommonsFilter,
    "reltag": ReltagFilter,
    "naivebayes": NaiveBayesFilter,
}


def _chain(config: Config) -> Sequence[tuple[str, Any]]:
    made: list[tuple[str, Any]] = []
    for name in config.parse.filters:
        kind: Any = ALL[name]
        declared = getattr(kind, "Settings", None)
        settings = None if declared is None else plugin_settings(config, f"parsefilter-{name}", declared)
        made.append((name, kind(Setup(config, settings))))
    return made


def _parsed(tmp_path: Path, body: str) -> Page:
    written(tmp_path / "fields.txt", FIELDS)
    written(tmp_path / "train.txt", TRAINING)
    written(tmp_path / "words.txt", "seal\n")
    config = load(written(tmp_path / "scoter.toml", CONFIG))
    with ContentParser(config, [("html", HtmlParser(Setup(config)))], _chain(config)) as parsing:
        found = parsing.parse(content(body.encode()))
    assert isinstance(found, Parsed), found
    # What another process parses comes back over a pipe, and must be the same.
    assert outcome(frame(found)[HEAD:]) == found
    return found.page


def test_every_filter_finds_what_a_page_says(tmp_path: Path) -> None:
    found = _parsed(tmp_path, BODY)

    assert found.language == "en-GB"
    assert dict(found.metadata) == {
        "h1": "Grey seals",
        "h2": "Where they live\tWhat they eat",
        "metatag.description": "Where grey seals live.",
        "metatag.keywords": "seals, sandbanks",
        "lang": "en",
        "has_trips": "true",
        "price": "25",
        "License-Url": "https://creativecommons.org/licenses/by-nc/3.0/de/",
        "License-Location": "rel",
        "License-Features": "by\tnc",
        "License-Version": "3.0",
        "License-Jurisdiction": "de",
        "Rel-Tag": "grey seals",
        "relevant": "true",
    }
    assert len(found.outlinks) == 2


def test_irrelevant_page_keeps_only_relevant_links(tmp_path: Path) -> None:
    body = '<title>Casino</title><p>A bonus today: <a href="/poker">poker</a> <a href="/SEALS">seals</a>'

    found = _parsed(tmp_path, body)

    assert found.metadata["relevant"] == "false"
    assert [link.target.path for link in found.outlinks] == ["/SEALS"]


def test_empty_page_gets_only_the_unconditional_fields(tmp_path: Path) -> None:
    assert dict(_parsed(tmp_path, "<p>12").metadata) == {"has_trips": "false", "relevant": "true"}
