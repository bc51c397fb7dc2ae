"""Request queues, one per host: when may the next request to each host start?

- ``policy``     how one host is treated: delay, number of threads, failure limits
- ``hostqueue``  the queue of one host
- ``order``      sorts the queues by the time of their next slot
- ``workbench``  all queues; callers pass in the time, and it never waits
- ``scheduler``  the workbench on an event loop: hands out slots
- ``slots``      how a slot ended, and the other records of the workbench
- ``feeder``     reads ahead from a source within bounds, fairly among hosts
- ``holds``      which holds outlive a fetch, and when they are stored
- ``spill``      holds on disk what does not fit into memory
- ``queue_keys``  which queue a URL belongs to

A *slot* is the permission to make one request to a host now.
"""
