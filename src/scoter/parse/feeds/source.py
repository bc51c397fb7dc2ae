"""Read an XML document as chunks of UTF-8 from its root element on, and walk it without building a tree.

Declarations are removed before a parser sees them. With the document type go all entities, so none can expand (billion
laughs, quadratic blow-up) or refer to other files, and default attribute values. The XML declaration is removed too,
because the chunks are UTF-8 whatever it says. Common faults of generated XML are repaired: bare ampersands, HTML
entities, characters that XML forbids.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator, Mapping
from html.entities import html5
from typing import Any, Final, Protocol

from scoter.core.display import size
from scoter.parse.encoding import codec_of, decode_page, encoding_name

PIECE: Final = 64 * 1024
MOST: Final = 64 * 1024 * 1024
"""Maximum bytes read of a document, after decompression."""
HEAD: Final = 1024 * 1024
"""Maximum characters before the root element."""
MOST_FAULTS: Final = 1_000
"""Maximum XML errors in a document: the parser stores each of them."""

_GZIP: Final = b"\x1f\x8b"
_GZIPPED: Final = 16 + zlib.MAX_WBITS
_PACKED: Final = 16 * 1024  # bytes decompressed at once; the rest is copied for every chunk
_DECLARED: Final = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})[\"']", re.ASCII)
_NOT_ALLOWED: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_AMPERSAND: Final = re.compile(r"&(?:#([0-9]{1,8}|[xX][0-9a-fA-F]{1,7});|([A-Za-z][A-Za-z0-9]{1,31});)?", re.ASCII)
_OPEN, _CLOSE = "<![CDATA[", "]]>"
_UNFINISHED: Final = re.compile(r"(?:\]\]?|[&<][^&<]{0,39})\Z")
_NAME: Final = re.compile(r"[^\s/>]{1,200}")
_DOCTYPE_STEP: Final = re.compile(r"[\"'\[\]>]|<!--|<\?")
_OWN: Final = frozenset(("amp", "lt", "gt", "quot", "apos"))


DEEPEST: Final = 500
"""Maximum nesting depth."""


MOST_ELEMENTS: Final = 5_000_000
"""Maximum elements of a document: a sitemap with 50,000 entries and 90 alternates each."""


class TooMuchError(ValueError):
    """A document exceeds a limit."""


class ElementCounter:
    """Enforces the limits on depth and number of elements."""

    def __init__(self) -> None:
        self._left = MOST_ELEMENTS

    def check(self, depth: int) -> None:
        """Count one more element at this depth."""
        self._left -= 1
        if depth >= DEEPEST:
            raise TooMuchError(f"more than {DEEPEST} nested elements")
        if self._left < 0:
            raise TooMuchError(f"more than {MOST_ELEMENTS:,} elements")


class XmlWalkTarget(Protocol):
    """Receives the events of a walk. Setting ``full`` or raising ``TooMuchError`` ends it."""

    full: bool

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...
    def end(self, tag: str) -> None: ...
    def data(self, text: str) -> None: ...
    def close(self) -> None: ...


class Unpacked:
    """A file, decompressed if it is gzipped; once read, ``doubt`` tells why its end is missing, if it is."""

    def __init__(self, body: bytes, most: int) -> None:
        self.doubt = ""
        self._body = body
        self._most = most

    def pieces(self) -> Iterator[bytes]:
        """Yield the file's first bytes, up to the limit."""
        left = self._most
        try:
            for piece in _inflated(self._body) if self._body.startswith(_GZIP) else _cut(self._body):
                if len(piece) > left:
                    self.doubt = f"only its first {size(self._most)} were read"
                    yield piece[:left]
                    return
                left -= len(piece)
                yield piece
        except EOFError:
            self.doubt = "the gzip file ends too early"
        except zlib.error:
            self.doubt = "the gzip file is damaged"


class XmlSource:
    """A document that is read once. ``root`` is the local name of its root element, or empty."""

    def __init__(self, body: bytes, charset: str = "", *, most: int = MOST) -> None:
        """``charset`` is the server's; at most ``most`` bytes are read, after decompression."""
        self.root = ""
        self._in_cdata = False
        self._file = Unpacked(body, most)
        self._rest = self._file.pieces()
        self._fault = ""
        first = next(self._rest, b"")
        declared = _DECLARED.search(first[:1_024])
        label = charset if encoding_name(charset) else declared[1].decode() if declared else ""
        self.encoding = decode_page(first, label, "utf-8", markup=False).encoding
        # A byte order mark yields "utf-16le" or similar; the mark itself precedes the root.
        self._decoder: Any = _decoder(self.encoding)("replace")
        self._head = self._find_root(self._text(first))

    @property
    def doubt(self) -> str:
        """What is wrong with the file, as far as it has been read."""
        return self._fault or self._file.doubt

    def pieces(self) -> Iterator[bytes]:
        """Yield the document; call once."""
        held = self._head
        for piece in self._rest:
            held += self._text(piece)
            cut = unfinished.start() if (unfinished := _UNFINISHED.search(held, max(0, len(held) - 40))) else len(held)
            if cut:
                yield self._repaired(held[:cut])
            held = held[cut:]
        held += self._text(b"", True)
        if held:
            yield self._repaired(held)

    def _text(self, piece: bytes, is_last: bool = False) -> str:
        try:
            return str(self._decoder.decode(piece, is_last))
        except UnicodeError:  # East Asian decoders fail on endless escape sequences
            self._decoder.reset()
            return "\ufffd"

    def _find_root(self, text: str) -> str:
        """Read up to the root element; return the text from there on, or an empty string."""
        while True:
            found = _after_prolog(text)
            name = None if found is None else _NAME.match(text, found + 1)
            is_whole = name is not None and name.end() < len(text)
            longer = text if is_whole or len(text) >= HEAD else self._lengthened(text)
            if longer == text:
                break
            text = longer
        if name is not None:  # perhaps "<rss" and nothing more
            self.root = name[0].rpartition(":")[2].lower()
            return text[found:]
        if len(text) >= HEAD:
            self._fault = "no root element within the first MiB"
        self._rest = iter(())
        return ""

    def _lengthened(self, text: str) -> str:
        """Read on until the text is twice as long, so that searching it again and again takes linear time."""
        pieces = [text]
        left = max(len(text), 1)
        while left > 0 and (piece := next(self._rest, None)) is not None:
            pieces.append(self._text(piece))
            left -= len(pieces[-1])
        return "".join(pieces)

    def _repaired(self, text: str) -> bytes:
        text = _NOT_ALLOWED.sub("", text)
        if "&" not in text and _OPEN not in text and not self._in_cdata:
            return text.encode()
        done: list[str] = []
        place = 0
        while place < len(text):
            mark = _CLOSE if self._in_cdata else _OPEN
            end = text.find(mark, place)
            stretch = text[place:] if end < 0 else text[place : end + len(mark)]
            done.append(stretch if self._in_cdata else _AMPERSAND.sub(_settled, stretch))
            place += len(stretch)
            self._in_cdata ^= end >= 0
        return "".join(done).encode()


def walk(source: XmlSource, target: XmlWalkTarget) -> str:
    """Feed a document to a target; return what is wrong with it, or an empty string."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(
        target=target,
        recover=True,
        resolve_entities="internal",  # otherwise ampersands in attributes stay escaped; no entity is declared any more
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        encoding="utf-8",
    )
    fault = ""
    try:
        for piece in source.pieces():
            parser.feed(piece)
            if target.full or len(parser.feed_error_log) > MOST_FAULTS:
                break
        parser.close()
    except (etree.LxmlError, ValueError) as error:
        fault = str(error)
    # An undeclared prefix is an error too, but a harmless one.
    fatal = (each.message for each in parser.feed_error_log if each.level_name == "FATAL")
    fault = "" if target.full else next(fatal, fault)
    return source.doubt or (f"broken XML: {' '.join(fault.split())}"[:120] if fault else "")


def local(tag: str) -> str:
    """Return an element's or attribute's name without its namespace.

    >>> local("{http://www.w3.org/1999/xlink}Href"), local("image:loc")
    ('href', 'loc')
    """
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def _cut(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


def _inflated(body: bytes) -> Iterator[bytes]:
    """Decompress a gzip file, member by member."""
    member = zlib.decompressobj(_GZIPPED)
    for start in range(0, len(body), _PACKED):
        packed = body[start : start + _PACKED]
        while packed:
            if member.eof:
                if not packed.startswith(_GZIP[: len(packed)]):
                    return  # padding or other trailing data
                member = zlib.decompressobj(_GZIPPED)
            if piece := member.decompress(packed, PIECE):
                yield piece
            packed = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise EOFError


def _after_prolog(text: str) -> int | None:
    """Return where the root element begins, or ``None`` if more text is needed."""
    place = 0
    while (place := text.find("<", place)) >= 0:
        if text.startswith("<?", place):
            end = text.find("?>", place)
        elif text.startswith("<!--", place):
            end = text.find("-->", place + 4)
        elif text[place : place + 9].upper() == "<!DOCTYPE":
            end = _doctype_end(text, place + 9)
        elif text.startswith("<!", place):
            end = text.find(">", place)
        elif _NAME.match(text, place + 1):
            return place
        else:
            end = place
        if end < 0:
            return None
        place = end + 1
    return None


def _doctype_end(text: str, place: int) -> int:
    inside = False
    while step := _DOCTYPE_STEP.search(text, place):
        place = step.end()
        match step[0]:
            case "[":
                inside = True
            case "]":
                inside = False
            case ">":
                if not inside:
                    return step.start()
            case other:
                end = text.find({"<!--": "-->", "<?": "?>"}.get(other, other), place)
                if end < 0:
                    return -1
                place = end + 1
    return -1


def _settled(found: re.Match[str]) -> str:
    number, name = found.groups()
    if number is not None:
        code = int(number[1:], 16) if number[0] in "xX" else int(number)
        allowed = (
            code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x1_0000 <= code < 0x11_0000
        )
        return found[0] if allowed else "\ufffd"
    if name is None:
        return "&amp;"
    if name in _OWN:
        return found[0]
    meant = html5.get(name + ";")
    return f"&amp;{name};" if meant is None else meant.replace("&", "&amp;").replace("<", "&lt;")


def _decoder(encoding: str) -> Any:
    try:  # Python has no codec for x-user-defined
        return codec_of(encoding).incrementaldecoder
    except LookupError:
        return codecs.lookup("utf-8").incrementaldecoder
