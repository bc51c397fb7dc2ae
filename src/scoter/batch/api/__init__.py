"""The REST API for batch crawls, served by ``scoter ui``.

- ``app``            the whole API, assembled, and its server: start here
- ``records``        what it accepts and returns, and the records of ``progress.jsonl``
- ``question_records``  the same for search, reports and SQL
- ``services``       what the handlers depend on, and errors as responses
- ``handlers/``      the handlers, one module per subject
- ``crawl_folder``   the crawls below a folder, and their locks
- ``summaries``      the state and counts of crawls, read cheaply
- ``crawl_metrics``  metrics of crawls
- ``host_tables``    the hosts of crawls with their URLs by status
- ``count_process``  counts the hosts of a large crawl without stored counts
- ``commands``       the port to the commands that can be run as jobs
- ``jobs``           runs jobs in their own processes
- ``job_files``      the files of a job
- ``schedules``      recurring jobs
- ``feeds``          progress as event streams
- ``archived_copies``  finds archived copies, after redirects
- ``replay``         rewrites archived pages, so that their addresses lead to archived copies
- ``replay_tickets``  what the addresses in such a page are authorised by
- ``rows``           pages of rows, as JSON or Arrow
- ``queries``        runs queries in processes of their own
- ``query_process``  these processes
"""
