"""Read an HTML page in one walk over its tree: title, text, links and robots directives.

- ``reader``      the entry point
- ``options``     what to read
- ``walk``        the walk over the elements, in Python and in C (``_walk.c``)
- ``elements``    how the walk treats each element
- ``headings``    collects headings and the anchors of sections
- ``page_parts``  collects what the walk finds
- ``attributes``  parses ``srcset`` and meta refresh
- ``audit``       reads what a report on a site's health needs: every address, and what the page says of itself
"""

from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.reader import MOST_LINKS, HtmlReader
from scoter.parse.html.walk import LONGEST_ANCHOR, LONGEST_TITLE

__all__ = ["LONGEST_ANCHOR", "LONGEST_TITLE", "MOST_LINKS", "HtmlOptions", "HtmlReader"]
