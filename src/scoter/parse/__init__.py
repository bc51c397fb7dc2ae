"""From the bytes of a page to what it says.

``mediatype`` decides what the bytes are, ``encoding`` in which characters they are written, ``html`` reads a page in
one walk over its tree, ``robots_meta`` understands what it asks of robots, ``links`` decides which links are kept.
``prescan`` tells pages that cannot take long from the others, which ``containment`` parses in a process of their own.
``parsing`` puts it all together: it is what a crawl calls. ``parsers`` holds the built-in parser plug-ins.

Nothing here fetches or stores.
"""

from scoter.parse.html import HtmlOptions, parse_html
from scoter.parse.links import Dropped, Kept, LinkRules
from scoter.parse.mediatype import received
from scoter.parse.parsing import Parsed, ParseFailed, Parsing

__all__ = ["Dropped", "HtmlOptions", "Kept", "LinkRules", "ParseFailed", "Parsed", "Parsing", "parse_html", "received"]
