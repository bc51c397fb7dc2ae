"""The worker processes: from a fetch list to finished parts.

- ``pool``      starts the workers, gives them tasks, and stops them; runs in the parent
- ``tasks``     the tasks of a fetch on this machine, one per worker; runs in the parent
- ``progress``  the progress and the result of a fetch, from the reports of the workers; runs in the parent
- ``process``   a worker: receives tasks, sends reports, stops when asked to
- ``records``   what travels with a request, and the rows of a page
- ``outcomes``  turns a reply into rows and further requests
- ``pages``     turns a body into the rows of a page; also used by the job ``parse``
- ``segment_part``  one part: an archive file and its tables, finished together

Except for ``pool`` and ``tasks``, no module may import Ibis or DuckDB: workers do not need them, and importing them
takes most of a second.
"""
