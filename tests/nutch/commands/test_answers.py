"""Command lines as Nutch spells them are answered with the right command."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Run

SEGMENT = "20261115033000"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("generate crawl/crawldb crawl/segments -topN 1000 -noFilter", "generate crawl --top-n 1000 --no-filter"),
        ("generate crawl -topN 1000", "generate crawl --top-n 1000"),
        (f"fetch crawl/segments/{SEGMENT} -threads 50", f"fetch crawl {SEGMENT} --threads 50"),
        (f"parse crawl/segments/{SEGMENT} -noNormalize", f"parse crawl {SEGMENT} --no-normalize"),
        (f"updatedb crawl/crawldb crawl/segments/{SEGMENT} -noAdditions", f"updatedb crawl {SEGMENT} --no-additions"),
        ("updatedb crawl/crawldb -dir crawl/segments", "updatedb crawl"),
        ("invertlinks crawl/linkdb -dir crawl/segments", "invertlinks crawl"),
        ("readdb crawl/crawldb -stats -sort", "readdb crawl --stats --sort"),
        ("readdb crawl/crawldb/ -dump out -format csv", "readdb crawl --dump out --format csv"),
        ("readdb crawl/crawldb --stats", "readdb crawl --stats"),
        ("dedup crawl/crawldb -compareOrder score", "dedup crawl --compare-order score"),
        ("readlinkdb crawl/linkdb -url http://a.example/", "readlinkdb crawl --url http://a.example/"),
        ("parsechecker -dumpText http://a.example/", "parsechecker http://a.example/ --dump-text"),
    ],
)
def test_nutch_command_line_is_answered_with_the_right_command(run: Run, typed: str, meant: str) -> None:
    done = run(*typed.split())

    assert done.code == 2
    assert done.err == f"scoter: this is spelled as in Nutch\nRun: scoter {meant}\n"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("dump -outputDir out -segment crawl/segments", "export crawl out --format files --layout hash"),
        (
            f"dump -flatdir -outputDir out -segment crawl/segments/{SEGMENT}",
            f"export crawl out --format files --layout flat --where 'segment == '\"'\"'{SEGMENT}'\"'\"''",
        ),
        (
            "dump -outputDir out -segment crawl/segments -reverseUrlDirs -mimetype image/png image/gif -mimeStats",
            "export crawl out --format files --layout reverse --type image/png --type image/gif",
        ),
        (
            "commoncrawldump -outputDir out -segment elsewhere/segments -gzip -reverseKey -extension html -jsonArray",
            "export elsewhere out --format commoncrawl --encoding cbor --compress gzip --reverse-key",
        ),
        (
            "commoncrawldump -outputDir out -segment crawl/segments -warc -warcSize 100",
            "export crawl out --format warc",
        ),
    ],
)
def test_dump_of_nutch_is_answered_with_an_export(run: Run, typed: str, meant: str) -> None:
    done = run(*typed.split())

    assert done.code == 2
    assert done.err == f"scoter: this is spelled as in Nutch\nRun: scoter {meant}\n"


def test_own_spellings_are_not_mistaken_for_nutch(run: Run) -> None:
    run("inject", "crawl", "http://a.example/")

    assert run("readdb", "crawl", "--stats").code == 0
    assert run("readseg", "crawl", f"crawl/segments/{SEGMENT}", "--list").err.startswith(
        "scoter: crawl/segments: no such"
    )
    assert "spelled" not in run("filterchecker", "http://a.example/segments/x").err
