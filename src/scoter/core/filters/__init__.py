"""Which URLs are kept: one module a filter.

Each has ``parse(lines, source) -> Rules``, which raises ``RuleError`` with file and line for a line that means
nothing, and rules with ``keeps(url)`` and ``explain(url)``: the line that decided, or why none did.
"""
