"""The live service: fetches the URLs of incoming messages within seconds, then parses, stores and announces them.

- ``intake/``    takes messages: checks them, finds their URLs, and accepts or refuses them
- ``pipeline/``  what happens to a URL, in order: start at its ``order``
- ``fetching/``  the processes that fetch
- ``sqlite/``    the stores in one SQLite file
- ``kafka/``     the stores and queues of a service on several machines, in Kafka and Cassandra
- ``content/``   the archive and the log of outcomes
- ``reports/``   the log as SQL views
- ``api/``       the HTTP API
- ``service/``   the processes of ``scoter serve``

What they share:

- ``records``         messages, URL records and events
- ``ports``           the interfaces between the pipeline and its surroundings
- ``tenants``         whose messages, events and deliveries are whose
- ``clock``           wall time, and a steady clock that nobody sets
- ``background``      threads and tasks whose failure ends the process
- ``threaded_calls``  a thread that carries out the calls of coroutines
"""
