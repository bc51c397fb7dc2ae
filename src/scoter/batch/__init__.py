"""Batch crawls: one job a module, named like its command, over the tables of a crawl directory.

Start at ``crawl.py``, which calls the others in turn. What they share:

``directory.py``  the crawl directory: what lies where, and which format it has
``segment.py``    one segment of it, and how far it has come
``schemas.py``    the columns of every table
``rows.py``       a datum as a row, and back
``partition.py``  which fetch list a URL belongs to
``sift.py``       the chains of normalisers and filters over URLs; ``rewriting.py``, ``resift.py``: over columns of them
``lookup.py``     the rows of one URL, found without reading the rest
``counted.py``    the parts of segments that count
``stopping.py``   how a running job is asked to end

and, behind single jobs: ``seeds.py`` and ``sowing.py`` (inject), ``selection.py``, ``picking.py`` and ``packing.py``
(generate), ``fetching/`` (fetch, parse), ``update/`` (updatedb), ``linking.py`` (linkdbs), ``nearness.py`` (dedup),
``archiving.py`` (mergesegs), ``dumping.py``, ``plain.py``, ``quantiles.py``, ``grouping.py``, ``segdump.py`` and
``verdict.py`` (what is shown), ``scope.py`` (crawl).
"""
