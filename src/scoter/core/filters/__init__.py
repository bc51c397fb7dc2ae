"""The rules of the URL filters.

Each filter has a function that reads its rule file and raises ``RuleError`` with file and line for a bad line. The
rules it returns have ``keeps(url)`` and ``explain(url)``: which line decided, or why none did.

- ``regex``      ``+`` and ``-`` lines with regular expressions; the first match decides
- ``affixes``    the prefix and suffix filters
- ``domain``     the filters by host: domain, domaindenylist and scope
- ``fast``       patterns per host and domain
- ``validator``  keeps what looks like a URL of the public web
"""
