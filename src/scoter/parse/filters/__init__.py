"""Parse filters: plug-ins that change a parsed page.

- ``page_fields``      copies headings, ``meta`` elements and tags into the page's metadata
- ``language``         determines the language
- ``regex``            extracts fields by rules
- ``creativecommons``  finds the licence
- ``naivebayes``       removes the links of pages that are off the subject
- ``metadata_values``  formats and limits metadata values

Filters write to ``Page.metadata``; several values of one key are separated by tabs. Filters are inactive unless
``parse.filters`` names them.
"""
