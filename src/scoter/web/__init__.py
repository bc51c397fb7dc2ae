"""The HTTP API of the live service, as plain ASGI applications.

- ``app``          the whole API, assembled from the services it is given: start here
- ``routes``       the route table, from which routing, validation and the OpenAPI document (``openapi``) are derived
- ``asgi``, ``problems``   requests, responses and error responses; the records are in ``scoter.api``
- ``handlers/``    the handlers, one module per subject
- ``lookups``, ``lookup_app``   lookups, and the application of processes that only answer lookups
- ``proxy``        forwards everything else from those processes to the core
- ``streams``, ``webhooks``   event streams, and deliveries to callbacks
- ``keys``         access control; ``metrics`` counters for Prometheus
- ``server``, ``protocol``   the HTTP server, and the limits it enforces
- ``service/``     the processes of ``scoter serve``
"""
