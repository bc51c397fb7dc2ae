"""Rewrites archived pages and stylesheets for display: every address leads to another archived copy.

Scripts, forms and everything that would act by itself are removed. This makes a copy readable; what makes it safe is
the policy that it is sent with (``handlers.copies``), which holds for whatever this module overlooks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from scoter.core.url import Url, canonical, join
from scoter.errors import UrlError
from scoter.parse.prescan import is_harmless

Address = Callable[[str], str]
"""Returns the address of the archived copy of a URL."""

_REMOVED: Final = "script, base, meta[http-equiv], object, embed, applet, portal"
# What would open windows, send forms, or refuse a rewritten resource.
_DROPPED: Final = frozenset(
    {"target", "ping", "download", "action", "formaction", "integrity", "crossorigin", "nonce", "srcdoc", "manifest"}
)
_RESOURCES: Final = frozenset({"src", "poster", "background", "href", "xlink:href"})
_SETS: Final = frozenset({"srcset", "imagesrcset"})
_NAVIGATION: Final = frozenset({"a", "area"})
_SHOWN_LINKS: Final = frozenset({"stylesheet", "icon"})
_LONGEST_SET: Final = 16_384
_CANDIDATE: Final = re.compile(r"[\s,]*+([^\s,]\S*+)")
# CSS syntax, 4.3.6: url( then a string or an address without quotes; and @import with a string.
_CSS_URL: Final = re.compile(
    r"(?P<url>\burl\(\s*+(?:\"(?P<double>[^\"\n]*+)\"|'(?P<single>[^'\n]*+)'|(?P<bare>(?:[^\s)\"'(\\]|\\[0-9a-f]{1,6}\s?|\\.)*+))\s*+\))"
    r"|(?P<import>@import\s*+)(?:\"(?P<idouble>[^\"\n]*+)\"|'(?P<isingle>[^'\n]*+)')",
    re.IGNORECASE,
)
_CSS_GROUPS: Final = ("double", "single", "bare", "idouble", "isingle")
_CSS_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_BANNER: Final = (
    "all:initial;display:block;box-sizing:border-box;width:100%;padding:6px 10px;background:#fff8d6;color:#222;"
    "border-bottom:1px solid #b9a54a;font:13px/1.4 sans-serif;overflow-wrap:anywhere;direction:ltr"
)


class CopyRewriter:
    """Rewrites the addresses of one archived document."""

    def __init__(self, url: str, address: Address) -> None:
        self._base = canonical(url)
        self._address = address

    def page(self, markup: bytes, banner: str) -> bytes | None:
        """Return a page as UTF-8 below a line of text; ``None`` if it is too complex to be parsed here."""
        if not is_harmless(markup):
            return None
        tree = LexborHTMLParser(markup)
        self._read_base(tree)
        for node in tree.css(_REMOVED):
            node.decompose()
        for node in tree.css("*"):
            self._rewrite(node)
        if tree.body is not None and tree.body.tag == "body":
            first = tree.body.first_child
            for line in LexborHTMLParser(f'<div style="{_BANNER}">{escape(banner)}</div>').css("div"):
                (tree.body.insert_child if first is None else first.insert_before)(line)
        return (tree.html or "").encode("utf-8", "replace")

    def stylesheet(self, text: str) -> str:
        """Return a stylesheet whose addresses lead to archived copies."""
        return _CSS_URL.sub(self._css_address, text)

    def _read_base(self, tree: LexborHTMLParser) -> None:
        for node in tree.css("base[href]")[:1]:
            self._base = join(self._base, node.attributes.get("href") or "") or self._base

    def _rewrite(self, node: Any) -> None:
        tag, attributes = node.tag, node.attributes
        if tag == "style":
            node.inner_html = self.stylesheet(node.text(deep=True)).replace("</", "<\\/")
            return
        if tag == "link" and not _SHOWN_LINKS & set((attributes.get("rel") or "").lower().split()):
            node.decompose()  # preconnect, prefetch, alternate: nothing that is shown
            return
        for name, value in attributes.items():
            if name in _DROPPED:
                del node.attrs[name]
            elif not value:
                continue
            elif name in _RESOURCES:
                self._set(node, name, self._resource(value, is_link=tag in _NAVIGATION))
            elif name in _SETS:
                self._set(node, name, self._source_set(value))
            elif name == "style":
                node.attrs[name] = self.stylesheet(value)
        if tag == "img":
            self._show_lazy(node, attributes)

    def _show_lazy(self, node: Any, attributes: dict[str, str | None]) -> None:
        """Show an image that a script would have loaded later."""
        later, now = attributes.get("data-src") or "", attributes.get("src") or ""
        if later and (not now or now.startswith("data:")):
            self._set(node, "src", self._resource(later, is_link=False))

    def _set(self, node: Any, name: str, value: str) -> None:
        if value:
            node.attrs[name] = value
        else:
            del node.attrs[name]

    def _resource(self, value: str, *, is_link: bool) -> str:
        """Return the address of a link or resource; empty if it cannot be an archived copy."""
        text = value.strip()
        if text.startswith("#") or (text[:5].lower() == "data:" and not is_link):
            return text
        found = _joined(self._base, text)
        if found is None:
            return ""
        _, sign, fragment = text.partition("#")
        return self._address(found.text) + sign + fragment

    def _source_set(self, value: str) -> str:
        kept = []
        rest = value[:_LONGEST_SET]
        while found := _CANDIDATE.match(rest):
            # HTML standard, 4.8.4.2.2: white space ends an address, a comma at its end closes the candidate.
            text, rest = found[1].rstrip(","), rest[found.end() :]
            size = ""
            if text == found[1]:
                size, _, rest = rest.partition(",")
            address = self._resource(text, is_link=False)
            if address:
                kept.append(" ".join((address, *size.split())))
        return ", ".join(kept)

    def _css_address(self, found: re.Match[str]) -> str:
        groups = found.groupdict()
        given = next((groups[name] for name in _CSS_GROUPS if groups[name] is not None), "")
        address = self._resource(_CSS_ESCAPE.sub(_unescaped, given), is_link=False)
        shown = address.replace("\\", "%5C").replace('"', "%22").replace("\n", "%0A").replace("<", "%3C")
        return f'{groups["import"] or ""}url("{shown}")'


def _joined(base: Url, text: str) -> Url | None:
    try:
        found = join(base, text)
    except UrlError:
        return None
    return found if found is not None and found.text.startswith(("http://", "https://")) else None


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return "" if found[2] == "\n" else found[2]
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def missing_page(url: str) -> bytes:
    """Return the page that is shown in place of one that was not archived."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not archived</title>'
        '<body style="font:16px/1.5 sans-serif;margin:3em 1em;text-align:center;color:#222;background:#fff">'
        f'<h1 style="font-size:1.3em">This page is not archived</h1><p style="overflow-wrap:anywhere">{escape(url)}</p>'
        "<p>The crawl has no copy of it. Nothing was requested from the web.</p>"
    ).encode()


MISSING_IMAGE: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40" viewBox="0 0 120 40">'
    b'<rect x=".5" y=".5" width="119" height="39" fill="#eee" stroke="#999" stroke-dasharray="3 3"/>'
    b'<text x="60" y="24" font-family="sans-serif" font-size="12" fill="#555" text-anchor="middle">not archived</text>'
    b"</svg>"
)
