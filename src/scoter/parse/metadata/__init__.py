"""What a page says about itself, in any of the vocabularies that pages use.

``reader`` is the entry point and holds the order of precedence of the sources. ``page_elements`` collects the elements
of the head once for all sources: ``meta_tags`` (Open Graph, Twitter cards, Dublin Core, plain ``meta``), ``linkrels``
and ``microformats``. ``ldjson`` and ``microdata`` (with RDFa) build a ``graph`` of schema.org things; ``main_entity``
chooses the one that the page is about, and ``schema`` reads its fields. ``body`` and ``bylines`` look at the content
where no other source has a value. ``field_values`` cleans and limits all values.
"""

from scoter.parse.metadata.reader import MetadataOptions, PageMetadataReader

__all__ = ["MetadataOptions", "PageMetadataReader"]
