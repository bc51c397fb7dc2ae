"""The built-in plug-ins. Each reads its settings and rule files and applies rules of ``core``.

- ``filters``      URL filters, and the exemption for external links
- ``normalizers``  URL normalisers
- ``schedules``    fetch schedules
- ``scoring``      scoring filters
- ``signatures``   signatures
- ``publishers``   publishers
- ``rulefiles``    reads rule files

Entry points in ``pyproject.toml`` register them, like those of any other package. ``rules/`` holds the rule files that
ship with Scoter. Protocols are in ``fetch.protocols``; parsers and parse filters are in ``parse``.
"""
