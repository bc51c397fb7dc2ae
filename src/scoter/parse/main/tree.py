"""The blocks of a page: a tree of its block elements, whose leaves are lines of text and code.

Lexbor writes its tree as markup again, which is then well-formed: one split at the tags replaces a walk over nodes,
which costs several times as much. Inline elements stay in the lines as tags.

Later steps recurse, or take time proportional to depth times size. Real pages are at most 35 elements deep (of 150
examined); hostile ones thousands. Deeper content is read as if the elements around it were missing.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from scoter.parse.html.elements import name_set
from scoter.parse.main.names import (
    ASIDE,
    BLOCK,
    BLOCK_END,
    HIDDEN,
    IMAGE,
    INLINE,
    INPUT,
    LINK,
    LINK_END,
    MATH,
    PASS,
    PRE,
    SKIP,
    SUP_END,
    About,
    about_tag,
)
from scoter.parse.main.nodes import (
    CODE_BREAKS,
    NUMBERED,
    Element,
    Line,
    Tree,
    attribute,
    clean,
    code_text,
    line_words,
)

DEEPEST: Final = 64
MOST_TAGS: Final = 200_000
TASK: Final = "checked"
"""The attribute of a list item that is a task."""
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value
_TAGS: Final = re.compile("<([^>]+)>")  # Lexbor escapes > in texts and attributes
_COMMENTS: Final = re.compile("<!--.*?-->", re.DOTALL)
_RAW: Final = re.compile(r"<(script|xmp|plaintext)\b([^>]*)>(.*?)</\1>", re.DOTALL)  # texts that are not escaped
_REMOVED: Final = [
    *("style", "noscript", "iframe", "noembed", "noframes", "svg", "template", "select", "textarea", "object"),
    *("applet", "canvas", "datalist", "audio", "video", "map", "progress", "meter", "dialog"),
]
_SHOWN: Final = frozenset(("xmp", "plaintext"))
_VOID_BLOCKS: Final = frozenset(("hr",))
_BLOCKS: Final = name_set(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form",
    "h1 h2 h3 h4 h5 h6 header hgroup legend li main menu nav ol p section summary table tbody td tfoot th thead tr ul",
)
_TITLES: Final = name_set("h1 h2 h3 h4 h5 h6 summary dt")  # a button inside one is its text
_PASSED: Final = frozenset(INLINE - {"a", "button", "math", "img", "amp-img", "amp-anim"}) | {
    f"/{name}" for name in INLINE - {"a", "sup"}
}
"""Tags that need no work."""
_PERMALINKS: Final = frozenset(("¶", "#", "§", "🔗", "⚓", "↩", "↑", "⇧", "\uf0c1"))
_VARIANTS: Final = "\ufe0e\ufe0f"  # variation selectors: text or emoji style
_TECHNICAL: Final = ("<code", "<tt", "<kbd", "<samp", "<var", "<pre", 'class="code"')
_MUCH_CODE: Final = 3
_HEAD: Final = 8_192  # bytes searched for the program that made the page
_GENERATOR: Final = re.compile(
    rb"<meta\s(?=[^<>]*generator)[^<>]*(?:docbook|docutils|doxygen|sphinx|texi2|makeinfo|javadoc|rustdoc|mkdocs|mdbook|asciidoc|publican"
    rb"|gitbook|docusaurus|latex2html|htlatex|tex4ht|pandoc|man2html|groff|ghc|haddock)",
    re.IGNORECASE,
)
_SHORT: Final = 300  # characters of an inline element that may be removed for its name
_FEW: Final = 100  # tags in it
_TEX: Final = re.compile(r'annotation\b[^>]* encoding="(?:application/x-tex|text/x-tex|tex|latex)"', re.IGNORECASE)


def read_tree(markup: bytes, *, hidden: bool = False) -> Tree:
    """Read a page; with ``hidden``, hidden elements are read, too."""
    tree = LexborHTMLParser(markup, options=_OPTIONS, scripting=True)
    has_formulas = b"math/tex" in markup
    tree.strip_tags(_REMOVED if has_formulas else [*_REMOVED, "script"])
    source = "" if tree.body is None else tree.body.inner_html or ""
    if "<!--" in source:
        source = _COMMENTS.sub("", source)
    if has_formulas or "<xmp" in source or "<plaintext" in source:
        source = _RAW.sub(_unraw, source)
    # Unclosed formatting makes more of a page than it is.
    reader = TreeReader(source[: 4 * len(markup) + 10_000], min(MOST_TAGS, 6 * markup.count(b"<") + 200), hidden=hidden)
    reader.read()
    coded = sum(source.count(name) for name in _TECHNICAL)
    is_technical = (
        coded >= _MUCH_CODE or reader.permalinks >= _MUCH_CODE or _GENERATOR.search(markup[:_HEAD]) is not None
    )
    return Tree(reader.root, reader.hidden_size, is_technical)


def _unraw(found: re.Match[str]) -> str:
    """Return what remains of an element whose content is no markup."""
    tag, said, text = found.groups()
    if tag in _SHOWN:
        return f"<pre>{escape(text, quote=False)}</pre>"
    if tag == "script" and "math/tex" in said:
        return f'<math><annotation encoding="application/x-tex">{escape(text, quote=False)}</annotation></math>'
    return ""


class TreeReader:
    """Turns serialised markup into a tree of blocks."""

    def __init__(self, source: str, most: int, *, hidden: bool = False) -> None:
        pieces = _TAGS.split(source.replace("&nbsp;", " "), maxsplit=most)
        pieces.append("/body")  # ends the last line
        self._pieces = pieces
        self._reads_hidden = hidden
        self.root = Element("body", about_tag("body"))
        self.hidden_size = 0
        self.permalinks = 0
        self._here = self.root
        self._above: list[Element] = []
        self._deep = 0  # open elements below the deepest of the tree
        self._parts: list[str] = []  # of the current line
        self._links: list[int] = []  # open links: where in the line, or one of the following
        self._linked = 0

    def read(self) -> None:
        """Read it all. This loop is most of the time that main text costs, so frequent cases are inlined."""
        pieces, passed = self._pieces, _PASSED
        end, place = len(pieces), 0
        parts = self._parts
        while place < end:
            text = pieces[place]
            tag = pieces[place + 1]
            place += 2
            if tag in passed:
                parts += (text, tag)
                continue
            if tag in _BLOCK_ENDS:
                if parts:
                    self._end_line(text)
                    parts = self._parts
                elif text and not text.isspace():
                    self._add_text(text)
                inner = self._here
                if self._deep:
                    self._deep -= 1
                elif self._above:
                    self._here = outer = self._above.pop()
                    if inner.tag == "a":
                        inner.linked = inner.size
                    outer.size += inner.size
                    outer.linked += inner.linked
                continue
            if tag[:8] == 'a href="' and tag.count('="') == 1:
                act, about = LINK, _A_LINK
            elif tag[:5] == "span " and not _SAYS_MORE.search(tag):
                parts += (text, tag)
                continue
            else:
                about = about_tag(tag)
                act = about.act
            if act == BLOCK:
                if parts:
                    self._end_line(text)
                    parts = self._parts
                elif text and not text.isspace():
                    self._add_text(text)
                if len(self._above) >= DEEPEST:
                    self._deep += 1
                else:
                    element = Element(about.name, about)
                    self._here.children.append(element)
                    self._above.append(self._here)
                    self._here = element
                if about.name in _VOID_BLOCKS:
                    self._close()
            elif act == LINK:
                if pieces[place + 1] == "/a" and pieces[place].strip().rstrip(_VARIANTS) in _PERMALINKS:
                    pieces[place + 2] = text + pieces[place + 2]
                    place += 2
                    self.permalinks += 1
                    continue
                self._links.append(len(parts) + 1)
                parts += (text, tag)
            elif act == LINK_END:
                self._end_link(text)
                parts = self._parts
            elif act == PASS:
                parts += (text, tag)
                if about.name == "a":
                    self._links.append(_NO_TARGET)
            elif act == BLOCK_END:  # of an unknown element
                self._end_line(text)
                parts = self._parts
                self._close()
            elif act == PRE:
                self._end_line(text)
                parts = self._parts
                place = self._code(about, place)
            else:
                place = self._rare(about, text, tag, place)
                parts = self._parts
        while self._above:
            self._deep = 0
            self._close()

    def _rare(self, about: About, text: str, tag: str, place: int) -> int:
        """Handle other tags; return where to go on."""
        parts, pieces = self._parts, self._pieces
        act, name = about.act, about.name
        if act == MATH:
            is_tex = True
            if name == "img":
                formula = attribute(about.attributes, "alt")
                is_tex = "\\" in formula or "^" in formula
            else:
                formula, is_tex, place = self._formula(about, place)
            parts += (text, "math tex" if is_tex else "math", escape(formula, quote=False), "/math")
            return place
        if act == SUP_END:
            self._end_sup(text)
            return place
        if act == IMAGE:
            parts += (text, tag)
            return place
        if act == INPUT:
            self._check(about)
        elif act == SKIP:
            if name == "button" and self._here.tag in _TITLES and not text.strip() and not "".join(parts[::2]).strip():
                after = self._after(name, place)
                if not pieces[after].strip() and pieces[after + 1] in _BLOCK_ENDS:  # it is all of the title
                    parts += (text, "span")
                    return place
            if about.bits & HIDDEN:
                if self._reads_hidden:
                    pieces[place - 2 : place] = [text, f"{name}{_shown(about.attributes)}"]
                    return place - 2
                after = self._after(name, place)
                self.hidden_size += len("".join(pieces[place:after:2]).strip())
                place = after
            else:
                place = self._after(name, place)
        elif act == ASIDE:
            self.permalinks += name == "a" and pieces[place].strip().rstrip(_VARIANTS) in _PERMALINKS
            after = self._after(name, place, most=_FEW)
            if not after or len("".join(pieces[place:after:2])) > _SHORT:
                if name == "a" and ' href="' in about.attributes:
                    self._links.append(len(parts) + 1)
                elif name == "a":
                    self._links.append(_NO_TARGET)
                parts += (text, tag)
                return place
            place = after
        if place < len(pieces):
            pieces[place] = text + pieces[place]
        return place

    def _after(self, name: str, place: int, most: int = 0) -> int:
        """Return where the text after the end of an open element is; 0 if that is more than ``most`` tags away."""
        pieces, opened, close = self._pieces, 1, f"/{name}"
        start = f"{name} "
        end = min(len(pieces), place + 2 * most) if most else len(pieces)
        while place < end:
            tag = pieces[place + 1]
            place += 2
            if tag == close:
                opened -= 1
                if not opened:
                    return place
            elif tag == name or tag.startswith(start):
                opened += 1
        return 0 if most else place

    def _open(self, about: About) -> None:
        if len(self._above) >= DEEPEST:
            self._deep += 1
            return
        element = Element(about.name, about)
        self._here.children.append(element)
        self._above.append(self._here)
        self._here = element

    def _close(self) -> None:
        if self._deep:
            self._deep -= 1
        elif self._above:
            inner = self._here
            self._here = outer = self._above.pop()
            if inner.tag == "a":
                inner.linked = inner.size
            outer.size += inner.size
            outer.linked += inner.linked

    def _end_line(self, text: str) -> None:
        """Add the current line to the tree."""
        parts = self._parts
        if not parts:
            if text and not text.isspace():
                self._add_text(text)
            return
        parts.append(text)
        self._parts = []
        if self._links:
            before = next((place for place in self._links if place >= 0), -1)
            if before >= 0:
                tag = parts[before]
                first = self._links.index(before)
                self._links[first:] = [_AROUND] + [_NO_TARGET] * (len(self._links) - first - 1)
                self._add(parts[:before])
                self._open(about_tag(tag))
                self._add(parts[before + 1 :])
                return
        self._add(parts)

    def _add_text(self, text: str) -> None:
        """Add a line that is one text."""
        words = " ".join(text.split())
        if "&" in words:
            words = unescape(words)
        if not words.isprintable():
            words = clean(words)
        here = self._here
        here.children.append(Line([text], words))
        here.size += len(words)

    def _add(self, parts: list[str]) -> None:
        words = line_words(parts)
        if words or any(tag[:3] == "img" or tag[:4] == "amp-" for tag in parts[1::2]):
            here, linked = self._here, min(self._linked, len(words))
            here.children.append(Line(parts, words, linked))
            here.size += len(words)
            here.linked += linked
        self._linked = 0

    def _end_link(self, text: str) -> None:
        opened = self._links.pop() if self._links else _NO_TARGET
        if opened == _AROUND:
            self._end_line(text)
            self._close()
            return
        parts = self._parts
        if opened >= 0:
            self._linked += len(" ".join("".join([*parts[opened + 1 :: 2], text]).split()))
            parts += (text, "/a")
        else:
            parts += (text, "/span")

    def _end_sup(self, text: str) -> None:
        """End a superscript, and remove it if it is only a link to a note on the same page."""
        parts = self._parts
        parts += (text, "/sup")
        for place in range(len(parts) - 3, max(-1, len(parts) - 30), -2):
            tag = parts[place]
            if tag == "sup" or tag[:4] == "sup ":
                break
        else:
            return
        inside = parts[place + 1 : -1]
        links = [number for number in range(1, len(inside), 2) if inside[number][:2] == "a "]
        if len(links) != 1 or ' href="#' not in inside[links[0]]:
            return
        last = inside.index("/a", links[0]) if "/a" in inside[links[0] :] else len(inside)
        if not "".join([*inside[: links[0]], *inside[last + 1 :]][::2]).strip():
            self._linked = max(0, self._linked - sum(map(len, inside[links[0] + 1 : last : 2])))
            del parts[place:]
            parts.append("")  # nothing between the texts before and after

    def _code(self, about: About, place: int) -> int:
        """Add a ``pre``; return where to go on."""
        pieces = self._pieces
        after = self._after("pre", place)
        texts, tags = pieces[place:after:2], pieces[place + 1 : after : 2]
        code = ""
        for tag in set(tags):
            name = tag.split(" ", 1)[0].lstrip("/")
            if name in CODE_BREAKS or name not in INLINE or NUMBERED.search(tag):
                code = code_text(texts, tags)
                break
        else:
            code = "".join(texts)
        code = clean(unescape(code).replace("\r", "")).strip("\n").rstrip()
        if code:
            self._open(about)
            language = next((tag for tag in tags[:1] if tag.startswith("code ")), "")
            if self._here.tag == "pre":
                self._here.code, self._here.task = code, language
            else:  # it is too deep
                self._here.children.append(Element("pre", about, code=code, task=language, size=len(code)))
            self._here.size += len(code)
            self._close()
        return after

    def _formula(self, about: About, place: int) -> tuple[str, bool, int]:
        """Return a formula, whether it is TeX, and where to go on."""
        pieces = self._pieces
        after = self._after("math", place)
        tags = pieces[place + 1 : after : 2]
        for number, tag in enumerate(tags):
            if tag[:10] == "annotation" and _TEX.match(tag):
                return unescape(pieces[place + 2 * number + 2]).strip(), True, after
        if alt := attribute(about.attributes, "alttext"):
            return alt, True, after
        words = []
        opened = 0
        for text, tag in zip(pieces[place:after:2], tags, strict=False):
            words += [text] if not opened else []
            if tag[:10] == "annotation":
                opened += 1
            elif tag[:11] == "/annotation":
                opened -= 1
        return unescape(" ".join("".join(words).split())), False, after

    def _check(self, about: About) -> None:
        """Record the checkbox of a task on its list item: ``x`` if done."""
        item = self._here if self._here.tag == "li" else self._above[-1] if self._above else self.root
        said = about.attributes
        if item.tag != "li" or attribute(said, "type").lower() != "checkbox":
            return
        if ' disabled="' in said or "task" in attribute(said, "class") + item.get("class"):
            item.task = "x" if ' checked="' in said else " "


_BLOCK_ENDS: Final = frozenset(f"/{name}" for name in _BLOCKS)
_A_LINK: Final = about_tag('a href=""')
_SAYS_MORE: Final = re.compile(' (?:class|id|style|hidden|aria-hidden|role)="')
_NO_TARGET: Final = -2  # an open link that leads nowhere
_AROUND: Final = -1  # an open link around blocks


def _shown(attributes: str) -> str:
    """Return attributes without what hides their element."""
    return re.sub(r' (?:hidden|aria-hidden|style)="[^"]*"', "", attributes)
