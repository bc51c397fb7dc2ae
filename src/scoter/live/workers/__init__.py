"""Request queues, spread over fetching processes.

- ``shards``: which domain belongs to which shard, and which process holds it (the core's side, pure)
- ``tenure``: what a fetching process may ask at this moment (its own side, pure)
- ``frames``, ``messages``: what core and fetchers say to each other, and how it goes over a socket
- ``process``, ``tenant``, ``gate``, ``reading``, ``direct``: the fetching process
- ``fetchers``, ``waiting``, ``member``: the core's side of it, which is the pipeline's port ``Fetching``
- ``answers``: what is answered for a request that is not made
- ``takeover``: how a new core makes sure that nobody of an earlier one still asks

A domain's queue lives in one process. Two locks keep it there. The first is the process itself: the core gives a shard
to another only after its holder has given it back, or is dead, and it kills a holder that is silent. The second is a
lease: a holder that has not heard from the core for a while asks nothing until it does. Whoever gets a shard leaves
each of its domains alone for as long as the domain rests after a request, since nobody knows when the last one was.
"""

from __future__ import annotations
