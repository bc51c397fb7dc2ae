"""Documents that are not markup: PDF, office documents, archives, images, and those an external program reads.

- ``pdf``                PDF documents, read with PDFium
- ``office``             Word, Excel, PowerPoint and OpenDocument files
- ``ooxml``              reads Word, Excel and PowerPoint documents
- ``zip``                zip archives and their members
- ``image``              images: size and embedded metadata
- ``image_size``         the size of an image from its first bytes, in any process
- ``other_formats``      more formats, read with kreuzberg
- ``command``            runs an external program
- ``archive``            reads zip files within limits
- ``xmltext``            turns XML into text without building a tree
- ``embedded_metadata``  reads XMP and IPTC
- ``pages``              turns the content of a document into a page

All parsers here run in the parser process. Libraries are imported when the first document needs them, because every
worker creates all parsers.
"""
