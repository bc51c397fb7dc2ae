"""What a page says about itself, from every vocabulary that pages say it in.

``options`` holds the order in which sources are believed, ``reader`` goes by it: it is what the HTML parser calls.
``elements`` collects the elements of the head once for all. Then a module for each source: ``opengraph``, ``twitter``,
``dublincore``, ``linkrels``, ``meta``, ``microformats``; ``ldjson`` and ``items`` (microdata and RDFa) make the same
kind of graph (``graph``), of which ``schema`` makes fields, with ``commerce`` and ``playing`` for what is sold and what
plays. ``body`` and ``pictures`` look at the content itself, where nothing else says anything. ``cleaning`` and
``dates`` bound and tidy what was found.
"""

from scoter.parse.metadata.reader import MetadataOptions, PageMetadataReader

__all__ = ["MetadataOptions", "PageMetadataReader"]
