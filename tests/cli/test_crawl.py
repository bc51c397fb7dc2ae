"""What `scoter crawl` says before it fetches anything."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_a_crawl_whose_seeds_are_all_dropped_says_how_to_find_out_why(run: Run) -> None:
    done = run("crawl", "mycrawl", "http://a.example/photo.jpg", "--agent", "gullbot")

    assert done.code == 2
    assert done.err == (
        "Seeds: 0 new, 0 known, 1 dropped by filters.\n"
        "scoter: there is no seed to start from\n"
        "`scoter filterchecker URL` tells which filter drops a URL, and by which rule.\n"
    )


def test_a_crawl_with_an_empty_list_of_seeds_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# none yet\n")

    done = run("crawl", "mycrawl", "seeds.txt", "--agent", "gullbot")

    assert done.code == 2
    assert done.err.endswith("scoter: there is no seed to start from\n")
