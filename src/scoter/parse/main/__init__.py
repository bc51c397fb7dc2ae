"""The main content of a page, as text and as Markdown.

``tree`` copies potential content into a small tree of bounded depth, ``boilerplate`` removes navigation and the like,
``extraction`` asks an extractor which of the rest is content, and ``blocks`` and ``inline`` write it as Markdown.
"""

from scoter.parse.main.extraction import MainContent, main_content

__all__ = ["MainContent", "main_content"]
