"""What a fetching process does: from a fetch list to finished parts.

``worker.py``  the process: lists in, statistics up the pipe, a stop down
``known.py``   what a request carries along of its URL's record
``lists.py``   fetch lists, read as requests
``outcomes.py`` from a reply to rows: what was fetched, where it leads, what the page says
``parts.py``   one part: an archive file and its tables, finished together
``paging.py``  from a body to a parsed page's rows; shared with the job ``parse``

No module here may import Ibis or DuckDB: a worker has no use for them, and they take most of a second to load.
"""
