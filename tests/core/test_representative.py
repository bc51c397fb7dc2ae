"""The representative URL of a redirect, by the cases that Nutch's URLUtil lists."""

from __future__ import annotations

import pytest

from scoter.core.representative import representative
from scoter.core.url import canonical

SOURCE, TARGET = "source", "target"


@pytest.mark.parametrize(
    ("source", "target", "permanent", "temporary"),
    [
        # another domain: the target
        ("http://a.com/", "http://b.com/", TARGET, TARGET),
        ("http://a.co.uk/", "http://b.co.uk/", TARGET, TARGET),
        # the root redirects to a page
        ("http://a.com/", "http://a.com/?y=1", SOURCE, SOURCE),
        ("http://a.com/", "http://a.com/xyz/index.html", SOURCE, SOURCE),
        ("http://a.com/", "http://www.a.com/xyz/index.html", SOURCE, SOURCE),
        # a page redirects to the root
        ("http://a.com/xyz/index.html", "http://a.com/", TARGET, TARGET),
        # neither is the root of the same host: fewer segments, then shorter, then the source
        ("http://a.com/xyz/index.html", "http://a.com/abc/page.html", TARGET, TARGET),
        ("http://a.com/a.html", "http://a.com/x/a.html", TARGET, SOURCE),
        ("http://a.com/x/a.html", "http://a.com/much-longer-name.html", TARGET, TARGET),
        ("http://a.com/aa.html", "http://a.com/bb.html", TARGET, SOURCE),
        ("http://a.com/dir/", "http://a.com/dir/x", TARGET, SOURCE),
        # neither is the root, or both are, on different hosts: fewer labels, then the source
        ("http://www.a.com/xyz/index.html", "http://www.news.a.com/xyz/index.html", TARGET, SOURCE),
        ("http://www.news.a.com/x.html", "http://www.a.com/xyz/index.html", TARGET, TARGET),
        ("http://www.a.com/", "http://www.news.a.com/", SOURCE, SOURCE),
        ("http://www.a.com/", "http://a.com/", SOURCE, TARGET),
        ("http://a.com/", "https://a.com/", SOURCE, SOURCE),
    ],
)
def test_representative_url_follows_nutch(source: str, target: str, permanent: str, temporary: str) -> None:
    urls = {SOURCE: canonical(source), TARGET: canonical(target)}

    assert representative(urls[SOURCE], urls[TARGET], permanent=True) == urls[permanent]
    assert representative(urls[SOURCE], urls[TARGET], permanent=False) == urls[temporary]
