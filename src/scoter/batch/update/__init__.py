"""The update rule over whole tables.

- ``inputs``      the inputs of an update, joined to one row per URL
- ``links``       the links to a URL, aggregated
- ``transition``  the rule as column expressions
- ``hooks``       the scoring chain, and plug-ins that work row by row

``scoter.core.update`` defines the rule. Tests check that both give the same result, for every case and on random rows.
"""
