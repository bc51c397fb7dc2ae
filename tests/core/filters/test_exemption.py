"""Exemptions from ignoring external links."""

from __future__ import annotations

import pytest

from scoter.core.filters.exemption import parse
from scoter.core.url import canonical
from scoter.errors import RuleError


def test_a_link_is_exempt_by_its_target() -> None:
    rules = parse(["# pictures from anywhere but here", "-//ads[.]", "+(?i)[.](?:png|jpe?g)$"], "rules.txt")
    page, picture = canonical("http://a.example/"), canonical("http://cdn.example/x.PNG")

    assert rules.exempts(page, picture)
    assert not rules.exempts(picture, page)
    assert not rules.exempts(page, canonical("http://ads.example/x.png"))
    assert rules.explain(picture) == "line 3: +(?i)[.](?:png|jpe?g)$"


def test_a_bad_line_is_told() -> None:
    with pytest.raises(RuleError, match=r"^rules\.txt:1: "):
        parse(["example.org"], "rules.txt")
