"""The rules of the URL normalisers.

Each takes the text of a URL and returns its new spelling, the same text if no rule applies, or ``None`` if the text is
not a URL. None of them raises, whatever the text. Those with rule files have a function that reads the file.

- ``url_pieces``  the normalisers without rule files: basic, querystring and ajax
- ``regex``     replaces everything that a pattern matches
- ``by_host``   the normalisers with rules per host: host, protocol and slash
"""
