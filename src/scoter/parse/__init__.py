"""Turn the bytes of a response into pages.

- ``content_parser``  the entry point: from a content to its pages
- ``mediatype``       determines the media type
- ``filetypes``       recognises files by first bytes, member names and extension
- ``encoding``        determines the character encoding, and converts to UTF-8
- ``legacy_encodings``  EUC-JP, ISO-2022-JP and Big5 as browsers decode them
- ``chain``           chooses and runs the parsers, then the parse filters
- ``parsers``         the parsers for HTML, text, JavaScript and CSS
- ``scripts``         finds addresses in JavaScript and style sheets
- ``html/``           reads an HTML page in one walk over its tree
- ``metadata/``       what a page says about itself
- ``main/``           the main text of a page, also as Markdown
- ``feeds/``          feeds, sitemaps and XML
- ``documents/``      PDF, office documents, zip files, images and external parser commands
- ``filters/``        the built-in parse filters
- ``links``           resolves links and decides which to keep
- ``robots_meta``     robots directives of a page
- ``prescan``         recognises pages that are sure to parse quickly
- ``parser_process``  parses all other pages in a separate process with limits
- ``worker``          the main program of that process
- ``records``         the results of decoding, parsing and choosing links
- ``byte_search``     byte searches that are faster with numpy

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
