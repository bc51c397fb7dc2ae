"""The update rule over whole tables.

``inputs.py``      what an update reads, joined to one row per URL
``links.py``       the links to a URL, aggregated
``transition.py``  the rule of ``core.update`` as column expressions
``hooks.py``       the scoring chain, and plug-ins that work row by row

``scoter.core.update`` defines the rule; tests check that both give the same result, for every case and on random rows.
"""
