"""The live service: fetches the URLs of incoming messages within seconds, then parses, stores and announces them.

- ``records``, ``ports``: messages, URL records and events; the interfaces of the pipeline
- ``acceptance``, ``scheduler``, ``admission``, ``pipeline``, ``stages``: from a message to the record of each URL
- ``sqlite``: the stores; ``journal_rules`` and ``keys`` hold what does not depend on the database
- ``workers``: the processes that fetch
- ``content``, ``reports``: the archive, the log of outcomes and reports over it
- ``clock``: wall time, and the clock of all leases
"""
