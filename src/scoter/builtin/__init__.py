"""The built-in plug-ins. Each reads its settings and rule files and applies rules of ``core``.

- ``filters``      URL filters, and the exemption for external links
- ``normalizers``  URL normalisers
- ``schedules``    fetch schedules
- ``scoring``      scoring filters by links
- ``carried_metadata``  scoring filters that pass metadata on to links
- ``orphans``      a scoring filter for pages that lost their inlinks
- ``similarity``   a scoring filter that compares pages with a text
- ``signatures``   signatures
- ``publishers``   publishers
- ``index_fields``  indexing filters that copy what is known about a page
- ``index_rules``  indexing filters that follow rules
- ``exchanges``    exchanges, which route documents to index writers
- ``rulefiles``    reads rule files

Entry points in ``pyproject.toml`` register them, like those of any other package. ``rules/`` holds the rule files that
ship with Scoter. Protocols are in ``fetch.protocols``; parsers and parse filters are in ``parse``.
"""
