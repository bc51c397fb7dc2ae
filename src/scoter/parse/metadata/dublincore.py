"""Dublin Core in ``meta`` elements: ``DC.title``, ``dcterms.created`` and their qualified forms."""

from __future__ import annotations

import re
from typing import Final

from scoter.core.metadata import PageMetadata
from scoter.parse.metadata.cleaning import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TITLE,
    LONGEST_WORD,
    clean,
    language,
    named,
    plausible_date,
    unmarked,
    words,
)
from scoter.parse.metadata.seen import Seen

_TERM: Final = re.compile(r"dc(?:terms)?[.:](.+)")
_PUBLISHED: Final = ("issued", "date.issued", "date.published", "date.created", "created", "date", "available")
_MODIFIED: Final = ("modified", "date.modified", "date.updated")
NOTHING = PageMetadata()


def claims(seen: Seen) -> PageMetadata:
    """Return what the page says in Dublin Core's terms."""
    terms: dict[str, list[str]] = {}
    for name, values in seen.metas.items():
        if name[:2] == "dc" and (term := _TERM.fullmatch(name)) is not None:
            terms.setdefault(term[1], []).extend(values)
    if not terms:
        return NOTHING

    def first(*names: str) -> str:
        return next((terms[name][0] for name in names if name in terms), "")

    return PageMetadata(
        title=clean(first("title", "title.main"), LONGEST_TITLE),
        description=unmarked(first("description", "description.abstract", "abstract"), LONGEST_DESCRIPTION),
        canonical=_web(seen, first("identifier", "identifier.uri", "identifier.url")),
        site_name=clean(first("publisher"), LONGEST_NAME),
        authors=named([*terms.get("creator", ()), *terms.get("creator.personalname", ())]),
        published=next(filter(None, (plausible_date(first(name)) for name in _PUBLISHED)), None),
        modified=next(filter(None, (plausible_date(first(name)) for name in _MODIFIED)), None),
        language=language(first("language", "language.iso")),
        type=clean(first("type"), LONGEST_WORD),
        keywords=words([*terms.get("subject", ()), *terms.get("subject.keywords", ())]),
        license=_web(seen, first("license", "rights.license", "rights.uri", "rights")),
    )


def _web(seen: Seen, text: str) -> str:
    """Return an address; identifiers and rights are as often names and sentences."""
    return seen.address(text) if text.lstrip()[:8].lower().startswith(("http://", "https://")) else ""
