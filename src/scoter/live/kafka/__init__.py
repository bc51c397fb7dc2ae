"""The live service on several machines: Kafka carries messages, requests and events; Cassandra holds the records.

- ``kafka``      connections to Kafka: options, errors, the sender of messages, topics
- ``messages``   what is in the topics, and the dead-letter topic
- ``faults``     what goes wrong with the servers: one log line each, and counts
- ``offsets``    which messages of a partition are done (pure)
- ``consumer``   the partitions of a group's member, and their messages
- ``intake``     accepted URLs, as an api writes them
- ``journal``    accepted URLs, as a pipeline reads them
- ``repeats``    URLs that an api has sent twice
- ``suspects``   messages that may have killed their process
- ``outcomes``   recording of outcomes: Cassandra first, then one Kafka transaction
- ``events``     events, read by number
- ``rules``      domain rules in a compacted topic
- ``cassandra``  connections to Cassandra, and the tables
- ``clocks``     the wall clock that processes share
- ``metadata``   records by URL
- ``access``     API keys and message ids
- ``robots``     the shared robots.txt cache
- ``requests``   the pipeline's request queues, served by workers
- ``large_replies``  replies that do not fit into a message, in an object store
- ``role_reports``  faults and activity of pipelines and workers, for api processes
- ``deliveries``  deliveries to callbacks
- ``topic_reader``  reads partitions without a consumer group
- ``backlogs``   how far the groups are behind, by topic
- ``migration``  moves the data of a service between its directory and a cluster
- ``worker``     a worker: partitions of domains, leases
- ``delays``     what a worker leaves to the next owner of its partitions

``docs/live-cluster.md`` has the design and the arguments for its guarantees.
"""
