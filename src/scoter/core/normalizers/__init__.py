"""In which spelling URLs are kept: one module a normaliser.

Each has ``normalize(text)`` (or rules with it, read by ``parse(lines, source)``), which returns the new spelling, the
same text when it has nothing to say, or nothing when there is no URL in it. None raises, whatever the text.
"""
