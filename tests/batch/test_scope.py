"""The scope of a crawl: its hosts and domains."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at

from scoter.batch.urls.seeds import SCOPE_FILE, extend_scope
from scoter.core.filters.domain import parse_scope
from scoter.core.url import canonical


def test_edited_scope_in_another_encoding_is_extended_and_keeps_its_lines(
    tmp_path: Path,
) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    (crawl.path / SCOPE_FILE).write_bytes(b"# f\xfcr uns\nhost a.org")

    extend_scope(crawl, "host", ["a.org", "b.org"])

    assert (crawl.path / SCOPE_FILE).read_bytes() == b"# f\xfcr uns\nhost a.org\nhost b.org\n"


@pytest.mark.parametrize("kind", ["host", "domain"])
@pytest.mark.parametrize(
    "seed",
    [
        "http://www.exa$mple.org/",
        "http://www.example.org./",
        "http://localhost./",
        "http://a..b/",
        "http://[::1]/",
        "http://10.1/",
        "http://b\xfccher.example/",
        "file:///srv/pages/",
    ],
)
def test_scope_includes_every_seed(tmp_path: Path, kind: str, seed: str) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    url = canonical(seed)

    extend_scope(crawl, kind, [url.host])

    rules = parse_scope((crawl.path / SCOPE_FILE).read_text().splitlines(), SCOPE_FILE)
    assert rules.keeps(url)
    assert rules.explain(url).startswith(kind)
    assert not rules.keeps(canonical("http://elsewhere.example/"))
