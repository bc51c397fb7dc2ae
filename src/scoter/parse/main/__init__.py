"""The main content of a page, as text and as Markdown.

- ``extraction``   the entry point: decides which blocks are content
- ``tree``         copies potential content into a small tree of bounded depth
- ``boilerplate``  removes navigation and other boilerplate
- ``article``      finds the paragraphs of an article and what belongs to them
- ``selection``    lets trafilatura select the content
- ``blocks``       writes blocks as Markdown
- ``inline``       writes inline content as Markdown
- ``plain``        writes plain text
"""

from scoter.parse.main.extraction import MainContent, main_content

__all__ = ["MainContent", "main_content"]
