"""The main text of pages that a crawl has archived: made when something needs it, and kept.

- ``job``       makes what is missing in the segments of a crawl; runs in the parent
- ``gaps``      which parts of a segment lack main text or Markdown; runs in the parent
- ``pool``      the worker processes, as their parent sees them
- ``worker``    what a worker does: it learns the hosts of a part, or makes the main text of its pages
- ``captures``  the archived HTML of the pages of a part
- ``page``      the main text of a single page
- ``hosts``     the blocks that pages of a host repeat, in a file that all workers share

The workers import neither Ibis nor DuckDB.
"""
