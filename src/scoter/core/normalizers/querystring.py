"""The querystring normaliser: parameters in one order, since ``?a=1&b=2`` and ``?b=2&a=1`` are mostly one page."""

from __future__ import annotations


def normalize(text: str) -> str:
    """Sort the parameters of the query.

    >>> normalize("http://a.example/?b=2&a=1#top")
    'http://a.example/?a=1&b=2#top'
    """
    address, mark, fragment = text.partition("#")
    path, question, query = address.partition("?")
    if "&" not in query:
        return text
    return f"{path}{question}{'&'.join(sorted(query.split('&')))}{mark}{fragment}"
