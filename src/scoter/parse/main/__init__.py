"""The main content of a page, as text and as Markdown.

- ``extraction``   the entry point: decides what is content
- ``tree``         reads a page as a tree of blocks, of bounded depth
- ``nodes``        what the tree is made of
- ``names``        what tags say: which elements are blocks, and what roles, classes and ids suggest
- ``repetition``   what is known about a host: blocks that its pages share
- ``boilerplate``  removes navigation and other boilerplate
- ``article``      finds the paragraphs of an article and what belongs to them
- ``plain``        writes plain text
- ``blocks``       writes blocks as Markdown
- ``tables``       tells data tables from layout, and writes them as Markdown
- ``inline``       writes inline content as Markdown
"""

from scoter.parse.main.extraction import MainContent, main_content
from scoter.parse.main.repetition import KnownBlocks, block_fingerprints

__all__ = ["KnownBlocks", "MainContent", "block_fingerprints", "main_content"]
