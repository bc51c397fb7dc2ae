"""Pages that are odd in form: very deep nesting, a very deep path, and many spellings of one URL."""

from __future__ import annotations

from msgspec.structs import replace

from .atlas import Atlas
from .facts import Link, Resource
from .markup import Document
from .pages import note
from .prose import slug
from .sites import Site

_PATH_DEPTH = 100
_PLAIN = "/odd/plain.html"
_ACCENT = "/odd/caf%C3%A9.html"


def oddities(atlas: Atlas, site: Site) -> list[Resource]:
    """The odd pages of a host."""
    return [
        _nested(atlas, site),
        note(atlas, site, _deep_path(), shows="deep-path"),
        note(atlas, site, _PLAIN, shows="spelled-target"),
        note(atlas, site, _ACCENT, shows="non-ascii-path"),
        _spellings(atlas, site),
    ]


def _nested(atlas: Atlas, site: Site) -> Resource:
    depth, path = atlas.spec.nesting, "/odd/nested.html"
    body = "<div>" * depth + "At the bottom of the well." + "</div>" * depth + "\n"
    document = Document(url=site.origin + path, title="The well", body=body)
    return note(atlas, site, path, document=document, shows="deep-nesting")


def _deep_path() -> str:
    # Segments differ, so that a rule against repeated segments does not catch this page.
    return "/odd/" + "".join(f"{slug(level * 7919)}-{level}/" for level in range(_PATH_DEPTH)) + "end.html"


def _spellings(atlas: Atlas, site: Site) -> Resource:
    """A page whose links are all one of three URLs, or no links at all, however they look."""
    host, path = site.name, "/odd/spellings.html"
    plain, accent, home = (f"{site.origin}{target}" for target in (_PLAIN, _ACCENT, "/"))
    spelled: tuple[tuple[str, str], ...] = (
        (plain, f"HTTP://{host.upper()}{_PLAIN}"),
        (plain, f"http://{host}:80{_PLAIN}"),
        (plain, "/odd/./deeper/../plain.html"),
        (plain, "/../odd/plain.html"),
        (plain, "  plain.html  "),
        (plain, "pla\nin.html"),
        (plain, "plain.html#somewhere"),
        (plain, "/odd/pl%61in.html"),
        (plain, "\\odd\\plain.html"),
        (plain, f"//{host}{_PLAIN}"),
        (accent, "caf%c3%a9.html"),
        (accent, "café.html"),
        (home, f"http://{host}"),
        (home, ".."),
    )
    nothing = ("mailto:nobody@example.test", "javascript:void(0)", "tel:+390612345", "data:text/plain,hello")
    shown = "".join(f'<li><a href="{href}">{href.strip()}</a></li>\n' for _, href in spelled)
    shown += "".join(f'<li><a href="{href}">{href}</a></li>\n' for href in nothing)
    document = Document(url=site.origin + path, title="One place, many names", body=f"<ol>\n{shown}</ol>\n")
    page = note(atlas, site, path, document=document, shows="spellings")
    links = tuple(Link(url, href.strip()) for url, href in spelled)
    return replace(page, links=links)
