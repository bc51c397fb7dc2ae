"""Defines the formats of the OpenAPI document for Schemathesis: URL, callback and registered domain.

Loaded by its command line (``hooks`` in its settings). All values here are valid, and come from a list because it asks
for lists of a thousand. It generates values that violate the schema itself; ``test_malformed.py`` covers the rest.
"""

from __future__ import annotations

import sys

from hypothesis import strategies as st

_HOSTS = ("a.example", "b.example", "EXAMPLE.org", "www.example.co.uk", "bücher.example", "xn--bcher-kva.example")
_PATHS = (
    "",
    "/",
    "/a b",
    "/%2e%2e/x",
    "/?a=1&b=2#c",
    "/\u202e/\U0001f600",
    "/%00",
    "/<script>",
    "/{{7*7}}",
    "/" + "x" * 7_900,
)
_LITERALS = ("http://127.0.0.1/", "http://[::1]/x", "http://1/", "http://8.8.8.8/", "http://[2001:db8::1]/")
_URLS = (
    *(f"{scheme}://{host}{path}" for scheme in ("http", "HTTPS") for host in _HOSTS for path in _PATHS),
    *_LITERALS,
)
_CALLBACKS = (
    "",
    *(f"https://{host}{path}" for host in _HOSTS for path in _PATHS if len(path) < 100),
    "http://8.8.8.8/",
)
_DOMAINS = ("a.example", "EXAMPLE.com", "example.co.uk", "bücher.example", "8.8.8.8", "localhost")

_FORMATS = {"url": _URLS, "callback": _CALLBACKS, "registered-domain": _DOMAINS}

if "schemathesis" in sys.modules:  # not when pytest imports this for doctests: importing it takes seconds
    for name, values in _FORMATS.items():
        sys.modules["schemathesis"].openapi.format(name, st.sampled_from(values))
