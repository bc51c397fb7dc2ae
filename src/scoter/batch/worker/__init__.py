"""What a fetching process does: from a fetch list to finished parts.

``process.py``   the process: gets tasks, sends reports, can be asked to stop
``pool.py``      the processes as their parent sees them
``records.py``   what a request carries along, and the rows of a page
``outcomes.py``  from a reply to rows, and to further requests
``pages.py``     from a body to the rows of a page; also used by the job ``parse``
``parts.py``     one part: an archive file and its tables, finished together

Apart from ``pool.py``, no module may import Ibis or DuckDB: workers do not need them, and they take most of a second to
load.
"""
