"""Messages of `scoter crawl`, and the scope of a crawl."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run
from tests.long.batch_truth import settings

from scoter.simweb import WebSpec, running


def test_crawl_with_only_filtered_seeds_hints_at_filterchecker(run: Run) -> None:
    done = run("crawl", "mycrawl", "http://a.example/photo.jpg", "--agent", "gullbot")

    assert done.code == 2
    assert done.err == (
        "Seeds: 0 new, 0 already known, 1 dropped by filters.\n"
        "scoter: there is no seed to start from\n"
        "To see which filter drops a URL: scoter filterchecker URL\n"
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
