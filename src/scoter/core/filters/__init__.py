"""The rules of the URL filters.

Each filter has a function that reads its rule file, which raises ``RuleError`` with file and line for a bad line. The
rules it returns have ``keeps(url)`` and ``explain(url)``: the line that decided, or why none did.
"""
