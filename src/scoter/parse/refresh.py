"""Meta refresh: ``<meta http-equiv=refresh content="5; url=/there">``, as browsers read it."""

from __future__ import annotations

import re

from scoter.core.page import Refresh
from scoter.core.url import Url, join

# HTML standard, 4.2.5.3 (shared declarative refresh steps): seconds, then perhaps a separator, "url=" and quotes.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:([0-9]++)(?:\.[0-9.]*+)?|\.[0-9.]*+)"
    r"(?:[\t\n\f\r ]*+[;,][\t\n\f\r ]*+|[\t\n\f\r ]++)"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+"
    r"(?:\"([^\"]*+)|'([^']*+)|(.*))",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 8_192
_FOREVER = 9  # digits; thirty years


def read_refresh(content: str, base: Url) -> Refresh | None:
    """Return where a refresh leads and when; nothing when it leads nowhere or does no more than load the page again.

    >>> from scoter.core.url import canonical
    >>> read_refresh("3; URL='/there'", canonical("http://a.example/here"))
    Refresh(target=Url('http://a.example/there'), seconds=3.0)
    >>> read_refresh("30", canonical("http://a.example/here"))
    """
    found = _REFRESH.match(content[:_LONGEST])
    if found is None:
        return None
    href = (found[2] or found[3] or found[4] or "").strip()
    target = join(base, href) if href else None
    if target is None:
        return None
    return Refresh(target, float((found[1] or "0")[:_FOREVER]))
