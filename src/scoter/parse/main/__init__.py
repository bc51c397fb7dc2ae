"""The main content of a page, as text and as Markdown.

``tree`` copies what may be content into a small tree of bounded depth, ``boilerplate`` takes out what stands around the
content, ``verdict`` asks an extractor about the rest, ``blocks``, ``tables`` and ``inline`` write it as Markdown, and
``content`` is the one call for all of it.
"""

from scoter.parse.main.extraction import MainContent, main_content

__all__ = ["MainContent", "main_content"]
