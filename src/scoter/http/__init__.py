"""The HTTP API of the live service, as plain ASGI applications, and the processes of the service.

- ``app``         the whole API, assembled from the services it is given: start here
- ``dispatcher``  dispatches the requests of an API to its handlers
- ``services``    what the handlers depend on
- ``routes``      routes, from which routing, validation and the OpenAPI document are derived
- ``openapi``     generates the OpenAPI document
- ``asgi``        requests, responses, streams
- ``inputs``      reads and validates bodies and query strings
- ``problems``    error responses
- ``handlers/``   the handlers, one module per subject
- ``lookups``     lookups as encoded JSON, and waiting for records
- ``lookup_app``  the application of processes that only answer lookups
- ``proxy``       forwards everything else from those processes to the core
- ``streams``     event streams
- ``webhooks``    delivers events to callbacks
- ``keys``        access control
- ``sessions``    sessions for browsers, and protection against foreign pages
- ``shares``      how much of a limit one key or address may use
- ``metrics``     counters for Prometheus
- ``history``     statistics of the last hour
- ``server``      runs uvicorn on the service's sockets
- ``protocol``    HTTP/1.1 with limits
- ``pages/``      the web interface
- ``service/``    the processes of ``scoter serve``
- ``batch/``      the REST API for batch crawls, served by ``scoter ui``

The records of the API are in ``scoter.live.api.records``.
"""
