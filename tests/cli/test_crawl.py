"""Messages of `scoter crawl`, and the scope of a crawl."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.long.batch_truth import settings

from scoter.simweb import WebSpec, running


def test_crawl_with_only_filtered_seeds_hints_at_filterchecker(run: Run) -> None:
    done = run("crawl", "mycrawl", "http://a.example/photo.jpg", "--agent", "gullbot")

    assert done.code == 2
    assert done.err == (
        "Seeds: 0 new, 0 already known, 1 dropped by filters.\n"
        "scoter: there is no seed to start from\n"
        "To see which filter drops a URL: scoter filterchecker http://a.example/photo.jpg\n"
    )


def test_crawl_with_empty_seed_list_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# none yet\n")

    done = run("crawl", "mycrawl", "seeds.txt", "--agent", "gullbot")

    assert done.code == 2
    assert done.err.endswith("scoter: there is no seed to start from\n")


def test_single_steps_respect_the_scope_of_the_crawl(run: Run) -> None:
    with running(WebSpec(hosts=3, pages=12, page_bytes=1_000)) as server:
        seed = next(iter(server.web.seeds()))
        options = [word for each in settings(server.port, "fetch.processes=1") for word in ("-D", each)]

        crawled = run("crawl", "mycrawl", seed, "--rounds", "1", "--scope", "host", *options)
        steps = [run(step, "mycrawl", *options) for step in ("generate", "fetch", "parse", "updatedb")]
        hosts = run("sql", "mycrawl", "select distinct host from crawldb union select host from outlinks", "--csv")

    assert crawled.err.endswith(": 1 round done. To continue: scoter crawl mycrawl\n")
    assert [step.code for step in steps] == [0, 0, 0, 0]
    assert hosts.out.split() == ["host", seed.split("/")[2]]


@pytest.mark.slow
def test_summary_names_hosts_with_possible_traps(run: Run) -> None:
    with running(WebSpec(hosts=2, pages=4, page_bytes=1_000, trap_size=60)) as server:
        more = ("fetch.processes=1", "generate.trap_share=0.01")
        options = [word for each in settings(server.port, *more) for word in ("-D", each)]
        done = run("crawl", "mycrawl", *server.web.seeds(), "--until-done", "--scope", "any", *options)
        host = next(each.host for each in server.ledger.requests() if each.path.startswith("/calendar/"))

    assert done.code == 0
    year = datetime.now(UTC).year
    assert f"Possible traps: {host}/calendar/0" in done.out
    assert " (dates far in the future, " in done.out
    assert done.out.endswith(" held back). To fetch them anyway: -D generate.trap_share=1\n")
    assert "only possible traps are due." in done.err
    ahead = [each for each in server.ledger.requests() if each.path.startswith(f"/calendar/{year + 2}")]
    assert len(ahead) <= len({line for line in done.out.splitlines() if line[:6].strip().isdecimal()})  # one per round


def test_crawl_limits_the_requests_to_a_host_in_a_round(run: Run) -> None:
    with running(WebSpec(hosts=1, pages=12, page_bytes=1_000, trap_size=0)) as server:
        options = [word for each in settings(server.port, "fetch.processes=1") for word in ("-D", each)]
        seeds = [f"{next(iter(server.web.seeds()))}?{number}" for number in range(5)]
        run("crawl", "mycrawl", *seeds, "--rounds", "1", "--max-per-host", "2", *options)
        requested = [each.path for each in server.ledger.requests() if each.path != "/robots.txt"]

    assert len(requested) == 2


def test_crawl_whose_seeds_all_fail_says_why(run: Run) -> None:
    options = [*settings(1), "fetch.processes=1", "store.disk_floor=0B"]  # nothing listens on port 1

    done = run(
        "crawl", "mycrawl", "http://a.test/", "--rounds", "1", *(word for each in options for word in ("-D", each))
    )

    assert done.code == 1
    assert done.out.splitlines()[2].split()[2:5] == ["1", "0", "0"]  # URLs, fetched, new URLs
    assert "No page was fetched:\n  http://a.test/: robots_unreachable (robots.txt: unreachable" in done.err
    assert "To see more: scoter explain mycrawl http://a.test/\n" in done.err


def test_crawl_that_has_its_pages_succeeds_when_nothing_is_due(run: Run) -> None:
    with running(WebSpec(hosts=1, pages=2, page_bytes=1_000, trap_size=0)) as server:
        options = [word for each in settings(server.port, "fetch.processes=1") for word in ("-D", each)]
        first = run("crawl", "mycrawl", next(iter(server.web.seeds())), "--until-done", *options)
        again = run("crawl", "mycrawl", *options)

    assert (first.code, again.code) == (0, 0)
    assert again.err.endswith(": nothing is due.\n")


def test_crawl_without_any_page_does_not_succeed_when_nothing_is_due(run: Run) -> None:
    options = [word for each in settings(1, "fetch.processes=1", "store.disk_floor=0B") for word in ("-D", each)]

    first = run("crawl", "mycrawl", "http://a.test/", "--rounds", "1", *options)
    again = run("crawl", "mycrawl", *options)

    assert (first.code, again.code) == (1, 1)


def test_hung_fetch_says_that_requests_got_no_answer(run: Run) -> None:
    with running(WebSpec(hosts=1, pages=2, page_bytes=1_000, trap_size=0, latency=5)) as server:
        options = [word for each in settings(server.port, "fetch.hung_after=1s") for word in ("-D", each)]
        run("inject", "mycrawl", next(iter(server.web.seeds())), *options)
        run("generate", "mycrawl", *options)
        done = run("fetch", "mycrawl", "-D", "fetch.processes=1", *options)

    assert ": 0 of 1 URL done. Ended without an answer: 1 request. No new request for" in done.err


def test_crawl_reads_sitemaps_before_its_rounds_if_asked(run: Run) -> None:
    with running(WebSpec(hosts=2, pages=30, page_bytes=1_000, trap_size=0)) as server:
        options = [word for each in settings(server.port, "fetch.processes=1") for word in ("-D", each)]
        seed = next(iter(server.web.seeds()))
        run("crawl", "without", seed, "--rounds", "1", *options)
        without = [each.path for each in server.ledger.requests()]
        run("crawl", "with", seed, "--rounds", "1", "--sitemaps", "once", *options)
        with_them = [each.path for each in server.ledger.requests()][len(without) :]

    assert [path for path in without if "sitemap" in path] == []
    assert [path for path in with_them if "sitemap" in path]


def test_parse_can_leave_links_unfiltered(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("-.\n")
    with running(WebSpec(hosts=2, pages=12, page_bytes=1_000)) as server:
        more = ("fetch.processes=1", "urlfilter.filters=regex", "urlfilter.regex_file=rules.txt")
        options = [word for each in settings(server.port, *more) for word in ("-D", each)]
        run("inject", "mycrawl", next(iter(server.web.seeds())), "--no-filter", *options)
        run("generate", "mycrawl", "--no-filter", *options)
        run("fetch", "mycrawl", "--no-parse", *options)

    found = []
    for choice in ("--force", "--no-filter"):
        assert run("parse", "mycrawl", "--force", choice, *options).code == 0
        found.append(int(run("sql", "mycrawl", "select count(*) as links from outlinks", "--csv").out.split()[1]))
    assert found[0] == 0
    assert found[1] > 0
