"""Request queues, one per host: when may the next request to each host start?

- ``policy``      how one host is treated: delay, number of threads, failure limits
- ``hostqueue``   the queue of one host; ``order`` sorts the queues by the time of their next slot
- ``workbench``   all queues; the caller passes the time, and it never waits
- ``scheduler``   the workbench on an event loop: hands out slots
- ``slots``       how a slot ended, and the other records of the workbench
- ``feeder``      reads a source ahead within bounds, fairly among hosts; ``spill`` holds the rest on disk
- ``keys``        which queue a URL belongs to

A *slot* is the permission to make one request to a host now.
"""
