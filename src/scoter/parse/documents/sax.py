"""XML read as it comes, without a tree: what a document makes of memory does not grow with it.

No DTD, entity or file is loaded from elsewhere. A document with entities of its own is not read, unless asked
for: none of the formats here needs them, but for pictures. libxml2 bounds what entities may amount to, and depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Protocol

from scoter.parse.documents.archive import Unreadable
from scoter.parse.documents.prose import Full

_RELATIONSHIPS: Final = "/relationships}"
_PROLOGUE: Final = 16 * 1024  # bytes in which entities are looked for


class Target(Protocol):
    """Told of elements and text in the order of the document.

    Names come without their namespace, but for attributes that name a relationship: ``r:id``.
    """

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


class Enough(Exception):
    """A target has what it wanted."""


class _Names:
    """Takes the namespaces away: Office documents have two for each, and nothing here needs to tell them apart."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.data = target.data

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        # Where entities are not resolved, libxml2 leaves every ampersand of an attribute to be read once more.
        plain = {_attribute(name): value.replace("&#38;", "&") for name, value in attributes.items()}
        self._target.start(local(tag), plain)

    def end(self, tag: str) -> None:
        self._target.end(local(tag))

    def close(self) -> None:
        return None


@lru_cache(maxsize=4_096)
def local(name: str) -> str:
    """Return a name without its namespace.

    >>> local("{http://a.example/}p")
    'p'
    """
    return name[name.rfind("}") + 1 :]


@lru_cache(maxsize=4_096)
def _attribute(name: str) -> str:
    # A slide has an id of its own beside that of its relationship.
    return f"r:{local(name)}" if _RELATIONSHIPS in name else local(name)


def tell(target: Target, pieces: Iterable[bytes], *, entities: bool = False) -> str:
    """Tell a target of a document; return what is wrong with it, or nothing."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(
        target=_Names(target), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    seen = 0
    try:
        for piece in pieces:
            if not entities and seen < _PROLOGUE and b"<!ENTITY" in piece:
                return "damaged: declares entities"
            seen += len(piece)
            parser.feed(piece)
        parser.close()
    except Enough:
        return ""
    except Full:
        return "cut: more text than is kept"
    except Unreadable as error:
        return str(error)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        return f"damaged: {str(error).partition(',')[0] or 'no XML'}"
    return ""
