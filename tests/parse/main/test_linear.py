"""The main content of a page takes time in proportion to its size, whatever the page is made of."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest
from tests.parse.main.rendering import BASE, main_of

from scoter.parse.main import KnownBlocks, block_fingerprints, main_content

TEXT = "Grey seals rest on the rocks, where they are safe. "
LARGER = 8
MOST = 2.5
"""What eight times the page may cost more than eight times as much: caches, and a machine that does other work."""
PAGES: dict[str, Callable[[int], str]] = {
    "nested": lambda size: ("<div>" * 60 + f"<p>{TEXT}" + "</div>" * 60) * size,
    "siblings": lambda size: f"<div><p>{TEXT}</p></div>" * 30 * size,
    "leads": lambda size: f"<h1>a</h1>{f'<div>{TEXT}</div>' * 30 * size}<div class=post-body>{TEXT * 30 * size}</div>",
    "headings": lambda size: "<div><h2>About seals</h2></div>" * 40 * size + f"<p>{TEXT * 20}",
    "like parts": lambda size: f"<div class=post-body><p>{TEXT * 2}</p></div>" * 20 * size,
    "table": lambda size: f"<table>{'<tr><th>a<td>b 1<td>c 2' * 20 * size}</table>",
    "terms": lambda size: f"<dl>{'<dt>a<dd>seals rest' * 40 * size}</dl>",
    "links": lambda size: "<p>" + "<a href=/x>seal</a> " * 100 * size,
    "link around it all": lambda size: f"<a href=/x>{'<div>seal</div>' * 60 * size}</a>",
    "code": lambda size: f"<pre>{'x = 1 <b>#</b> &lt;y&gt;<br>' * 150 * size}</pre>",
    "line": lambda size: "<p>" + "seals <b>rest</b>, and *eat*.<br>" * 80 * size,
    "formulas": lambda size: f"<p>{TEXT}</p>" * 9 + r"<div>\[ x \]</div>" * 40 * size,
    "notices": lambda size: f"<div class=cookie-banner><p>{TEXT}</p></div>" * 30 * size + f"<p>{TEXT * 20}</p>",
    "JSON-LD": lambda size: f'<script type=application/ld+json>{{"articleBody":"{TEXT * 90 * size}"}}</script>',
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_cost_grows_as_the_page_does(page: Callable[[int], str]) -> None:
    small, large = page(4), page(4 * LARGER)
    known = KnownBlocks()
    for _ in range(3):
        known = known.add(block_fingerprints(small.encode()))

    def cost(markup: str) -> float:
        began = process_time()
        main_of(markup)
        main_content(markup.encode(), base=BASE, known=known)
        return process_time() - began

    cost(small)  # warms up
    costs = ((min(cost(small), cost(small)), cost(large)) for _ in range(4))  # until one was not disturbed
    assert any(for_large < MOST * LARGER * for_small for for_small, for_large in costs)
