"""Markup made for programs: feeds, sitemaps and XML of any kind.

- ``source``     decodes a document, removes its declarations and walks it without building a tree
- ``feed``       the feed parser
- ``sitemap``    the sitemap parser
- ``xml``        the parser for other XML
- ``entries``    the records of a feed and its entries
- ``xmlfeeds``   reads RSS, Atom and RDF
- ``jsonfeeds``  reads JSON Feed
"""
