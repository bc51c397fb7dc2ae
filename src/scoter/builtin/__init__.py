"""The built-in plug-ins: each reads its settings and rule files and wraps rules of ``core``.

They are registered by entry points in ``pyproject.toml``, as anybody's would be; ``rules/`` holds the rule files
that ship with Scoter.
"""
