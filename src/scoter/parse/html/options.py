"""Options for reading HTML pages."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from scoter.config import Config
from scoter.plugins import POINTS, active, find


class HtmlOptions(Struct, frozen=True):
    """What to read of a page."""

    form_actions: bool = False
    ignored: tuple[str, ...] = ()
    line_separators: tuple[str, ...] = ()
    element_name: str = ""
    default_encoding: str = "windows-1252"
    agents: tuple[str, ...] = ()
    script_links: bool = False
    metadata: bool = False
    metadata_order: tuple[str, ...] = ()
    main_text: bool = False
    markdown: bool = False
    text: bool = True

    @classmethod
    def of(cls, config: Config) -> HtmlOptions:
        """Return the configured options."""
        parse = config.parse
        return cls(
            form_actions=parse.html_form_use_action,
            ignored=parse.html_outlinks_ignore_tags,
            line_separators=parse.html_line_separators,
            element_name=parse.html_outlinks_htmlnode_metadata_name,
            default_encoding=parse.character_encoding_default,
            agents=tuple(name.lower() for name in (config.agent.name, *config.http.robots_agents) if name),
            script_links=parse.script_links,
            metadata=parse.metadata,
            metadata_order=parse.metadata_order,
            main_text=parse.main_text,
            markdown=parse.markdown,
        )

    @property
    def main_content(self) -> bool:
        """Whether to extract the main content, as text or Markdown."""
        return self.main_text or self.markdown


def is_text_needed(config: Config) -> bool:
    """Tell whether anything uses the text of pages; extracting it takes a sixth of the time of reading a page."""
    parse = config.parse
    if parse.store_text or parse.simhash or active(POINTS["parsefilter"], config):
        return True
    readers = [each for each in _classes("scoring", config) if hasattr(each, "after_parsing")]
    return any(getattr(each, "reads_text", True) for each in (*readers, *_classes("signature", config)))


def _classes(name: str, config: Config) -> list[type[Any]]:
    point = POINTS[name]
    return [find(point, each).load() for each in active(point, config)]
