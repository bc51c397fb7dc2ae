"""Turn the bytes of a response into pages.

``content_parser`` is the entry point. ``mediatype`` decides the media type, ``encoding`` the character encoding,
``chain`` the parser, and ``links`` which links to keep. ``prescan`` recognises pages that are sure to parse quickly;
``parser_process`` parses all others in a separate process with limits. ``vectors`` has searches that numpy speeds up.

- ``html``       reads a page in one walk over its tree; ``parsers`` has the plug-ins for HTML, text, JavaScript and CSS
- ``metadata``   what a page says about itself
- ``main``       the main text of a page, also as Markdown
- ``feeds``      feeds, sitemaps and XML
- ``documents``  PDF, office documents, zip files, images and external parser commands
- ``filters``    the built-in parse filters

Nothing here fetches or stores.
"""

from scoter.parse.content_parser import ContentParser, Parsed, ParseFailed
from scoter.parse.html import HtmlOptions
from scoter.parse.links import LinkRules
from scoter.parse.mediatype import make_content
from scoter.parse.records import DropReason, KeptLinks

__all__ = [
    "ContentParser",
    "DropReason",
    "HtmlOptions",
    "KeptLinks",
    "LinkRules",
    "ParseFailed",
    "Parsed",
    "make_content",
]
