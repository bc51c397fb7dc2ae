"""Parse filters: plug-ins that refine a parsed page, adding to it or removing from it.

``page_fields`` holds the filters that copy headings, ``meta`` elements and tags into the page's metadata, ``language``
determines the language, ``regex`` extracts fields by rules, ``creativecommons`` finds the licence, and ``naivebayes``
removes the links of pages that are off the subject. ``values`` and ``language_tags`` hold what they share.

Filters write to ``Page.metadata``; several values of one key are separated by tabs. Filters are inactive unless
``parse.filter_order`` names them.
"""
