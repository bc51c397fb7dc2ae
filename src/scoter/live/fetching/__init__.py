"""The worker processes that fetch, and the request queues of the core.

In the core:

- ``dispatcher``  the pipeline's ``RequestQueues``: sends each hop to the worker that holds its domain
- ``domains``     the queue of each domain
- ``pool``        starts, watches and replaces workers
- ``shards``      assigns domains to shards and shards to workers (pure)

In a worker:

- ``process``    the main program
- ``worker``     serves the requests of the core, and direct ones
- ``transport``  checks the lease immediately before each request

In both:

- ``requests``  replies to requests that are not made; what workers ask of the core; direct requests
- ``wire``      messages and framing
- ``lease``     what a worker may request, and its lock file
- ``limits``    the settings and limits of a worker

Only one worker at a time requests a domain. Two rules ensure this. The core moves a shard only after its holder has
returned it or is dead, and it kills a silent holder. A worker whose lease has expired makes no requests until the core
renews it. A new holder waits for the delay of each domain of the shard, because the time of the last request is not
known exactly.
"""
