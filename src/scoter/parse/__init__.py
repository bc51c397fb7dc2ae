"""From the bytes of a page to what it says.

``mediatype`` decides what the bytes are, ``encoding`` in which characters they are written, ``chain`` which parser
reads them, ``links`` which links are kept. ``prescan`` tells pages that cannot take long from the others, which
``containment`` parses in a process of their own. ``parsing`` puts it all together: it is what a crawl calls.
``vectors`` has the searches that numpy speeds up.

- ``html``       a page in one walk over its tree; ``parsers`` makes plug-ins of this and of plain text
- ``metadata``   what a page says about itself
- ``main``       its main text, and that as Markdown
- ``feeds``      feeds, sitemaps, XML; ``scripts`` has JavaScript and CSS
- ``documents``  PDF, office documents, zips, pictures, programs of one's own
- ``filters``    the built-in parse filters

Nothing here fetches or stores.
"""

from scoter.parse.content_parser import ContentParser, Parsed, ParseFailed
from scoter.parse.html import HtmlOptions, parse_html
from scoter.parse.links import LinkRules
from scoter.parse.mediatype import received
from scoter.parse.records import DropReason, KeptLinks

__all__ = [
    "ContentParser",
    "DropReason",
    "HtmlOptions",
    "KeptLinks",
    "LinkRules",
    "ParseFailed",
    "Parsed",
    "parse_html",
    "received",
]
