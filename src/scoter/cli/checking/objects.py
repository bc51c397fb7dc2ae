"""What was found out about a document, for programs: one JSON object."""

from __future__ import annotations

from typing import Any

import msgspec

from scoter.cli.checking.examining import Entry, Examined, Fate
from scoter.cli.checking.getting import Got
from scoter.core.page import Outlink, Page


def as_object(got: Got, found: Examined | None) -> dict[str, Any]:
    """Return all there is; a document that was not had or not parsed has ``problem``."""
    content = got.content
    about: dict[str, Any] = {
        "url": got.url.text,
        "asked": got.asked,
        "parsed": found is not None and found.failure is None,
        "problem": got.problem or _failure(found),
        "status": got.status or None,
        "peer": got.peer or None,
        "hops": got.hops,
        "headers": got.headers,
        "robots_txt": got.robots,
        "timings": _timings(got, found),
    }
    if content is not None:
        why = "forced" if got.decision is None else got.decision.why
        about |= {
            "length": len(content.body),
            "wire_length": got.wire,
            "truncated": content.truncated,
            "coding_problem": got.coding_problem or None,
            "type": {"media_type": content.media_type, "why": why},
            "x_robots_tag": content.robots.splitlines(),
        }
    if found is not None and found.page is not None:
        about |= {
            "encoding": found.encoding,
            "page": {**page_object(found.page), "links": [_link(fate) for fate in found.fates]},
            "entries": [_entry(each) for each in found.entries],
            "signatures": {name: value.hex() for name, value in found.signatures.items()},
            "signature_in_use": found.signs,
        }
    return {name: msgspec.to_builtins(value, enc_hook=_plain) for name, value in about.items()}


def page_object(page: Page) -> dict[str, Any]:
    """Return what a page says, but for its links."""
    return {
        "url": page.url.text,
        "title": page.title,
        "language": page.language,
        "media_type": page.media_type,
        "doubt": page.doubt,
        "robots": {
            "noindex": page.noindex,
            "nofollow": page.nofollow,
            "noarchive": page.noarchive,
            "nosnippet": page.nosnippet,
            "unavailable_after": page.unavailable_after,
        },
        "canonical": page.canonical and page.canonical.text,
        "base": page.base and page.base.text,
        "refresh": page.refresh and {"url": page.refresh.target.text, "seconds": page.refresh.seconds},
        "metadata": dict(page.metadata),
        "metas": {name: list(values) for name, values in page.metas.items()},
        "about": page.about,
        "headings": page.headings,
        "alternates": [{**msgspec.structs.asdict(each), "url": each.url.text} for each in page.alternates],
        "text": page.text,
        "main_text": page.main_text,
        "markdown": page.markdown,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        **page_object(entry.page),
        "links": [_outlink(link) for link in entry.page.outlinks],
        "kept_links": entry.kept,
        "dropped": None if entry.dropped is None else entry.dropped.value,
    }


def _link(fate: Fate) -> dict[str, Any]:
    kept = fate.target is not None
    dropped = None if fate.dropped is None else fate.dropped.value
    target = fate.target and fate.target.text
    return {**_outlink(fate.link), "kept": kept, "kept_as": target, "dropped": dropped, "detail": fate.detail or None}


def _outlink(link: Outlink) -> dict[str, Any]:
    return {"url": link.target.text, "kind": link.kind, "anchor": link.anchor, "rel": link.rel}


def _timings(got: Got, found: Examined | None) -> dict[str, Any]:
    parse = {} if found is None else {"parse": found.first, "parse_again": found.again}
    fetch = {} if got.timings is None else {"fetch": got.timings, "waited": got.waited}
    return {**fetch, **parse}


def _failure(found: Examined | None) -> str | None:
    if found is None or found.failure is None:
        return None
    return f"{found.failure.reason}: {found.failure.detail}" if found.failure.detail else found.failure.reason


def _plain(value: Any) -> Any:
    return dict(value)  # a mapping of another kind
