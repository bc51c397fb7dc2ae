"""Read an HTML page in one walk over its tree: title, text, links and robots directives.

- ``reader``      the entry point: the walk itself
- ``options``     what to read
- ``elements``    how the walk treats each element
- ``page_parts``  collects what the walk finds
- ``attributes``  parses ``srcset`` and meta refresh
"""

from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.reader import LONGEST_ANCHOR, LONGEST_TITLE, MOST_LINKS, HtmlReader

__all__ = ["LONGEST_ANCHOR", "LONGEST_TITLE", "MOST_LINKS", "HtmlOptions", "HtmlReader"]
