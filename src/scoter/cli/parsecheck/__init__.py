"""How ``scoter parsechecker`` and ``indexchecker`` examine one document.

- ``document``     fetches the document, or reads it from a file
- ``examination``  parses it and finds out why; also the result as JSON
- ``report``       describes the result to people
- ``index_document``  the documents that the page becomes in a search index
- ``layout``       formats lines for a terminal
"""
