"""The worker processes that fetch, and the request queues of the core.

In the core:

- ``dispatcher``  the pipeline's ``RequestQueues``: sends each hop to the worker that holds its domain
- ``domains``     the queue of each domain
- ``pool``        starts, watches and replaces workers
- ``shards``      assigns domains to shards and shards to workers (pure)

In a worker:

- ``process``, ``worker``  the process, and how it serves requests
- ``transport``            checks the lease immediately before each request
- ``requests``             requests that a worker sends to the core, and direct requests without a core

In both: ``wire`` (messages and framing), ``lease`` (what a worker may request, and its lock file), ``limits``.

A domain's queue is in one process. Two locks keep it there. The first is the process: the core moves a shard only after
its holder has returned it or is dead, and it kills a silent holder. The second is a lease: a worker that has not heard
from the core for a while makes no requests until it does. A new holder leaves each domain of the shard alone for the
domain's delay, since nobody knows exactly when the last request was made.
"""
