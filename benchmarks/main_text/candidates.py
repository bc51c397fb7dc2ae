"""The extractors to compare. A candidate gets the other pages of the host, and then each page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from benchmarks.main_text.measures import block_lines
from scoter.core.url import canonical
from scoter.parse.main import KnownBlocks, block_fingerprints, main_content

Extract: TypeAlias = Callable[[bytes], Any]
Candidate: TypeAlias = Callable[[Sequence[bytes]], Extract]
"""Given known pages of a host, return what extracts text from another."""

_BASE: Final = canonical("http://docs.example/")


def available() -> dict[str, Candidate]:
    """Return the candidates whose packages are installed, by name."""
    found: dict[str, Candidate] = {
        "scoter": _scoter,
        "scoter-alone": _scoter_alone,
        "scoter-markdown": _scoter_markdown,
    }
    for package, (name, candidate) in _PEERS.items():
        if find_spec(package):
            found[name] = candidate
    return found


def _trafilatura(known: Sequence[bytes]) -> Extract:
    from trafilatura import extract

    return lambda markup: extract(markup.decode(), include_comments=False) or ""


def _scoter(known: Sequence[bytes]) -> Extract:
    blocks = _blocks(known)
    return lambda markup: main_content(markup, base=_BASE, known=blocks).text


def _scoter_alone(known: Sequence[bytes]) -> Extract:
    return lambda markup: main_content(markup, base=_BASE).text


def _scoter_markdown(known: Sequence[bytes]) -> Extract:
    blocks = _blocks(known)
    return lambda markup: main_content(markup, base=_BASE, markdown=True, known=blocks).markdown


def _blocks(known: Sequence[bytes]) -> KnownBlocks:
    blocks = KnownBlocks()
    for markup in known:
        blocks = blocks.add(block_fingerprints(markup))
    return blocks


def _resiliparse(known: Sequence[bytes]) -> Extract:
    from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-untyped]

    return lambda markup: str(extract_plain_text(markup.decode(), main_content=True, links=False, alt_texts=False))


def _readability(known: Sequence[bytes]) -> Extract:
    from readability import Document  # type: ignore[import-not-found]

    return lambda markup: "\n".join(block_lines(Document(markup.decode()).summary()))


def _justext(known: Sequence[bytes]) -> Extract:
    import justext  # type: ignore[import-untyped]

    words = justext.get_stoplist("English")
    return lambda markup: "\n".join(
        paragraph.text for paragraph in justext.justext(markup, words, encoding="utf-8") if not paragraph.is_boilerplate
    )


_PEERS: Final[dict[str, tuple[str, Candidate]]] = {
    "trafilatura": ("trafilatura", _trafilatura),
    "resiliparse": ("resiliparse", _resiliparse),
    "readability": ("readability-lxml", _readability),
    "justext": ("jusText", _justext),
}
