"""Documents that are not markup: PDF, Office, archives, pictures, and what a program of the user's reads.

Each parser here runs in the process that can be stopped: none vouches for a content. ``pdf``, ``office`` (with
``ooxml`` and ``odf``), ``zip``, ``image`` (with ``svg`` and ``xmp``), ``command`` and ``wide`` hold one parser plug-in
each. ``archive`` reads zip files within bounds, ``sax`` reads XML without building a tree, ``prose`` puts lines of text
together, and ``pages`` makes the page.

The libraries are imported when the first document needs them: every fetching process makes all parsers.
"""
