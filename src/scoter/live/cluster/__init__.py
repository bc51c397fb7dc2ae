"""The live service on several machines: Kafka carries messages, requests and events; Cassandra holds the records.

- ``kafka``      connections to Kafka: options, errors, the sender of messages, topics
- ``messages``   what is in the topics, and the dead-letter topic
- ``offsets``    which messages of a partition are done (pure)
- ``consumer``   the partitions of a group's member, and their messages
- ``intake``     accepted URLs, as an api writes them
- ``journal``    accepted URLs, as a worker reads them
- ``suspects``   messages that may have killed their process
- ``outcomes``   recording of outcomes: Cassandra first, then one Kafka transaction
- ``events``     events, read by number
- ``rules``      domain rules in a compacted topic
- ``cassandra``  connections to Cassandra, and the tables
- ``metadata``   records by URL
- ``access``     API keys and message ids
- ``robots``     the shared robots.txt cache
- ``requests``   the worker's request queues, served by fetchers
- ``deliveries``  deliveries to callbacks
- ``tail``       reads partitions without a consumer group
- ``migration``  moves the data of a service between its directory and a cluster
- ``fetcher``    a fetcher: partitions of domains, leases, and what it hands over

``docs/live-cluster.md`` has the design and the arguments for its guarantees.
"""
