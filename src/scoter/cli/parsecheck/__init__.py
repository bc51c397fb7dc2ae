"""How ``scoter parsechecker`` examines one document.

- ``document``     fetches the document, or reads it from a file
- ``examination``  parses it and finds out why; also the result as JSON
- ``report``       describes the result to people
- ``layout``       formats lines for a terminal
"""
