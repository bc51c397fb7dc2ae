"""The checker commands on ordinary and hostile URLs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from scoter.simweb import WebSpec, running

HOSTILE = [
    b"http://example.org/\x00nul",
    b"http://example.org/\x1b[2J\x1b[1;1Hcleared",
    b"\x1b]0;title\x07",
    b"http://example.org/\xff\xfe not utf-8",
    b"http://example.org/\xed\xa0\x80 half a surrogate",
    "http://example.org/\u202etxt.exe".encode(),
    b"http://" + b"a" * 100_000 + b".example.org/",
    b"http://example.org/" + b"a" * 300_000,
    b"http://example.org/" + b"../" * 50_000,
    b"http://example.org/?" + b"&" * 100_000,
    b"http://example.org/" + b"%" * 100_000,
    b"http://[::1",
    b"http://[::ffff:10.0.0.1]/",
    b"http://0x7f000001/",
    b"http://0177.0.0.1/",
    b"http://2130706433/",
    b"http://user:pass@example.org:99999/",
    b"http:\\\\example.org\\..\\..\\etc",
    b"javascript:alert(1)//http://example.org/",
    b"data:text/html;base64," + b"A" * 100_000,
    b"file:///etc/passwd",
    b"gopher://example.org/",
    b"http://example.org:80:80/",
    b"http://exa\tmple.org/\tx",
    b"\t \t",
    b"http://xn--/",
    b"http://\xe2\x93\x94xample.org/",
    b"//example.org/",
    b"http://example.org/" + "ä".encode() * 10_000,
]
CHAIN = ["-D", 'urlfilter.filters=["validator", "suffix", "regex"]']


@pytest.mark.parametrize(
    "command",
    [
        ["filterchecker", *CHAIN],
        ["normalizerchecker", "-D", "urlnormalizer.normalizers=basic,regex,querystring,ajax"],
        ["robotschecker", "robots.txt"],
    ],
    ids=lambda command: command[0],
)
def test_hostile_urls_are_reported_and_escaped(run: Run, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /a\n")
    urls = b"\n".join(HOSTILE)

    for_people = run(*command, stdin=urls)
    for_programs = run(*command, "--json", stdin=urls)

    assert (for_people.code, for_programs.code) == (0, 0)
    rows = [json.loads(line) for line in for_programs.out.splitlines()]
    assert len(rows) == len([url for url in HOSTILE if url.strip()])
    heads = [line for line in for_people.out.splitlines() if not line.startswith("    ")]
    assert len(heads) == len(rows)
    assert not [each for each in for_people.out if each != "\n" and not each.isprintable()]
    assert for_people.err == "" or command[0] == "robotschecker"


def test_filter_chain_stops_at_the_first_filter_that_drops_the_url(run: Run) -> None:
    shown = run("filterchecker", "http://example.org/a.gif", "http://example.org/", "ssh://example.org/a.gif")

    assert shown.out.splitlines()[0] == "- http://example.org/a.gif"
    assert "+ http://example.org/\n" in shown.out
    assert shown.out.count("    suffix") == 2


def test_quiet_prints_only_results(run: Run, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /a\n")

    assert run("filterchecker", "--quiet", "http://example.org/a.gif").out == "- http://example.org/a.gif\n"
    assert run("normalizerchecker", "--quiet", "HTTP://EXAMPLE.org").out == "http://example.org/\n"
    robots = run("robotschecker", "--quiet", "robots.txt", "http://example.org/a", "nope")
    assert (robots.out, robots.err) == ("- http://example.org/a\n? nope\n", "")


def test_empty_chain_keeps_everything(run: Run) -> None:
    assert run("filterchecker", "-D", "urlfilter.filters=[]", "x-y://h/a").out == "+ x-y://h/a\n"


def test_backtracking_pattern_is_reported_and_does_not_hang(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("-(a+)+\\1!$\n+.\n")
    url = "http://example.org/" + "a" * 3_000

    shown = run("filterchecker", "-D", "urlfilter.filters=regex", "-D", "urlfilter.regex_file=rules.txt", url)

    assert shown.code == 0
    assert "rules.txt:1" in shown.err
    assert shown.out.startswith("- ")
    assert "gave up" in shown.out


def test_scope_selects_regex_normaliser_rules(run: Run, tmp_path: Path) -> None:
    rule = "<regex-normalize><regex><pattern>/x</pattern><substitution>{}</substitution></regex></regex-normalize>"
    (tmp_path / "default.xml").write_text(rule.format("/y"))
    (tmp_path / "outlink.xml").write_text(rule.format("/z"))
    chain = ["-D", "urlnormalizer.normalizers=regex", "-D", "urlnormalizer.regex_file=default.xml"]
    chain += ["-D", "urlnormalizer.regex_file_outlink=outlink.xml", "--quiet"]

    assert run("normalizerchecker", *chain, "http://a.test/x").out == "http://a.test/y\n"
    assert run("normalizerchecker", *chain, "--scope", "outlink", "http://a.test/x").out == "http://a.test/z\n"


def test_robots_rules_are_those_of_our_agent_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: gullbot\nDisallow: /g\nUser-agent: *\nDisallow: /s\n")
    urls = ["http://a.test/g", "http://a.test/s"]

    assert run("robotschecker", "--quiet", "robots.txt", *urls).out == "+ http://a.test/g\n- http://a.test/s\n"
    by_option = run("robotschecker", "--quiet", "robots.txt", "--agent", "gullbot", *urls)
    by_setting = run("robotschecker", "--quiet", "robots.txt", "-D", "agent.name=gullbot", *urls)
    assert by_option.out == by_setting.out == "- http://a.test/g\n+ http://a.test/s\n"


def test_robots_file_and_urls_cannot_both_come_from_stdin(run: Run) -> None:
    shown = run("robotschecker", "-", "http://a.test/s", stdin="User-agent: *\nDisallow: /s\n")

    assert "- http://a.test/s  line 2: Disallow: /s" in shown.out
    assert run("robotschecker", "-", stdin="x").code == 2


def test_robots_txt_of_a_site_is_fetched(run: Run) -> None:
    with running(WebSpec(hosts=3, pages=12, page_bytes=1_000)) as server:
        seed = next(iter(server.web.seeds()))
        options = ["-D", f'fetch.connect_to=["*:80=127.0.0.1:{server.port}"]', "-D", "fetch.delay=0"]

        done = run("robotschecker", seed, "--agent", "gullbot", *options)
        asked = [entry.path for entry in server.ledger.requests()]

    assert done.code == 0
    assert done.out.startswith(f"+ {seed}")
    assert set(asked) == {"/robots.txt"}
