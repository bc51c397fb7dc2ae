"""The HTTP API of the live service.

- ``app``         the whole API, assembled from the services it is given: start here
- ``records``     what it accepts and returns; ``live.records`` has the records of URLs and events
- ``services``    what the handlers depend on
- ``handlers/``   the handlers, one module per subject
- ``lookups``     lookups as encoded JSON, and waiting for records
- ``lookup_app``  the application of processes that only answer lookups
- ``webhooks``    delivers events to callbacks
- ``metrics``     the metrics of the service
- ``history``     statistics of the last hour
"""
