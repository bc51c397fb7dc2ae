"""What a page says about itself, in any of the vocabularies that pages use.

- ``reader``         the entry point, with the order of precedence of the sources
- ``page_elements``  collects the elements that hold metadata, once for all sources
- ``meta_tags``      Open Graph, Twitter cards, Dublin Core and plain ``meta`` elements
- ``linkrels``       ``link`` elements
- ``microformats``   ``h-entry``, ``h-product``, ``h-card`` and hAtom
- ``ldjson``         JSON-LD
- ``microdata``      microdata and RDFa Lite
- ``graph``          schema.org things from ``ldjson`` and ``microdata``
- ``main_entity``    chooses the thing that the page is about
- ``schema``         reads the fields of that thing
- ``body``           metadata from the content, for fields that no other source has
- ``bylines``        author and date from the byline
- ``field_values``   cleans and limits all values
"""

from scoter.parse.metadata.reader import MetadataOptions, PageMetadataReader

__all__ = ["MetadataOptions", "PageMetadataReader"]
