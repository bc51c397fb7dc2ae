"""Documents that are not markup: PDF, office documents, archives, images, and those an external program reads.

All parsers here run in the parser process. ``pdf``, ``office`` (with ``ooxml``), ``zip``, ``image``, ``command`` and
``wide`` hold one parser plug-in each. ``archive`` reads zip files within limits, ``xmltext`` turns XML into text
without building a tree, ``embedded_metadata`` reads XMP and IPTC, and ``pages`` makes the page.

Libraries are imported when the first document needs them, because every fetching process creates all parsers.
"""
