"""The rules of the URL normalisers.

Each takes the text of a URL and returns its new spelling, the same text if nothing applies, or ``None`` if the text is
not a URL. None of them raises, whatever the text. Those with rule files have a function that reads the file.
"""
