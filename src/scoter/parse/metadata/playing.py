"""What a thing of schema.org has to play: its files and its players."""

from __future__ import annotations

from typing import Final

from scoter.core.dates import parse_duration
from scoter.core.metadata import Media
from scoter.parse.metadata.cleaning import media_type, side
from scoter.parse.metadata.graph import Graph, Thing, address_of, types_of
from scoter.parse.metadata.seen import Seen

MOST_MEDIA: Final = 10
_SOUNDS: Final = frozenset({"audioobject", "musicrecording", "podcastepisode", "audiobook", "radioepisode"})
_FILMS: Final = frozenset({"videoobject", "movie", "tvepisode", "episode", "clip", "musicvideoobject"})
_HOLDERS: Final = ("video", "audio", "associatedMedia", "encoding", "trailer", "subjectOf", "sharedContent")


def media(graph: Graph, seen: Seen, thing: Thing) -> tuple[Media, ...]:
    """Return what plays: the thing itself, what it has, and what stands beside it on the page."""
    found: dict[str, Media] = {}
    held = [inner for name in _HOLDERS for inner in graph.things_of(thing, name)]
    beside = [other for other in graph.things if other is not thing]
    own = _kind(graph, thing)
    for number, one in enumerate([thing, *held, *beside][:100]):
        # Any file of an episode or a film is what plays; other things may have files of any sort.
        if kind := _kind(graph, one, own if number <= len(held) else ""):
            for part in _parts(graph, seen, one, kind):
                if len(found) < MOST_MEDIA:
                    found.setdefault(part.url, part)
    return tuple(found.values())


def _kind(graph: Graph, thing: Thing, otherwise: str = "") -> str:
    """Return whether a thing is heard or seen; a file of which neither is said is so ``otherwise``."""
    kinds = {kind.lower() for kind in types_of(thing)}
    if kinds & _SOUNDS:
        return "audio"
    if kinds & _FILMS:
        return "video"
    if "mediaobject" not in kinds:
        return ""
    said = media_type(graph.text(thing, 100, "encodingFormat", "fileFormat"))
    return said.partition("/")[0] if said.startswith(("audio/", "video/")) else "" if said else otherwise


def _parts(graph: Graph, seen: Seen, thing: Thing, kind: str) -> list[Media]:
    width, height = side(graph.text(thing, 40, "width")), side(graph.text(thing, 40, "height"))
    length = parse_duration(graph.text(thing, 60, "duration"))
    found = []
    for name, role in (("contentUrl", kind), ("embedUrl", "player")):
        for value in graph.each(thing, name):
            if url := seen.address(address_of(value)):
                said = media_type(graph.text(thing, 100, "encodingFormat", "fileFormat")) if role == kind else ""
                part = Media(url=url, kind=role, media_type=said, width=width, height=height, seconds=length)
                found.append(part)
    return found
