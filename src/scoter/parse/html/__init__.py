"""HTML pages: title, text, links, and what they say about themselves, in one walk over the tree.

``reader`` is what everybody calls; ``options`` says what of a page is wanted; ``elements`` knows what to do with which
element, ``found`` keeps what the walk comes upon, ``text`` puts words in order, ``srcset`` chooses among sizes of an
image, and ``doubt`` tells what is wrong with a page.
"""

from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.reader import LONGEST_ANCHOR, LONGEST_TITLE, MOST_LINKS, HtmlReader, parse_html

__all__ = ["LONGEST_ANCHOR", "LONGEST_TITLE", "MOST_LINKS", "HtmlOptions", "HtmlReader", "parse_html"]
