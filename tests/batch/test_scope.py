"""The hosts and domains to which a crawl goes."""

from __future__ import annotations

from pathlib import Path

from tests.batch.crawls import crawl_at

from scoter.batch.scope import SCOPE, extend


def test_a_scope_that_a_person_wrote_into_in_another_encoding_is_extended_and_keeps_their_lines(
    tmp_path: Path,
) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    (crawl.path / SCOPE).write_bytes(b"# f\xfcr uns\nhost a.org")

    extend(crawl, "host", ["a.org", "b.org"])

    assert (crawl.path / SCOPE).read_bytes() == b"# f\xfcr uns\nhost a.org\nhost b.org\n"
