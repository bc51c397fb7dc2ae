"""The live service: fetches the URLs of incoming messages within seconds, then parses, stores and announces them.

- ``pipeline``        what happens to a URL, in order: start here
- ``records``         messages, URL records and events
- ``ports``           the interfaces between the pipeline and its surroundings
- ``acceptance``      finds the URLs of a message, and accepts or refuses it
- ``scheduler``       takes entries from the journal through the pipeline
- ``admission``       limits the URLs in progress per domain, and pauses while storage is unavailable
- ``context``         the record of one URL on its way through the pipeline
- ``stages/``         the stages of the pipeline
- ``parser_pool``     processes that parse what may take long, in a fair order
- ``workers/``        the processes that fetch
- ``sqlite/``         the stores in one SQLite file
- ``cluster/``        the stores, queues and fetchers of a service on several machines
- ``journal_rules``   rules of the journal that do not depend on the database
- ``keys``            API keys
- ``tenants``         whose messages, events and deliveries are whose
- ``content/``        the archive and the log of outcomes
- ``reports/``        SQL reports over the log
- ``retries``         when a URL that could not be fetched is fetched again
- ``clock``           wall time, and the clock of all leases
- ``background``      threads and tasks whose failure ends the process
- ``threaded_calls``  a thread that carries out the calls of coroutines
"""
