"""The update rule over whole tables.

``gathering.py``  the inputs: which parts of segments count, and URLs sent through filters and normalisers
``joining.py``    what is known of a URL, what a fetch led to and what links to it, side by side in one row
``links.py``      the links to a URL, as one row
``transition.py`` the rule of ``core.update`` as column expressions
``scoring.py``    the scoring chain over those rows
``by_rows.py``    plug-ins that have no column face, asked row by row
``maps.py``       metadata

The truth is ``scoter.core.update``; that these give the same is tested, on every case and on random rows.
"""
