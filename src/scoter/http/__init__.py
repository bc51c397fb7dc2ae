"""What both HTTP APIs are made of, as plain ASGI applications. It knows neither batch crawls nor the live service.

- ``dispatcher``  dispatches the requests of an API to its handlers: start here
- ``routes``      routes, from which routing, validation and the OpenAPI document are derived
- ``openapi``     generates the OpenAPI document
- ``asgi``        requests, responses, streams
- ``inputs``      reads and validates bodies and query strings
- ``problems``    error responses
- ``records``     the records that both APIs accept and return
- ``handlers/``   the handlers that both APIs have: keys, sessions, health checks
- ``access``      access control
- ``api_keys``    API keys: the record, the port, and how tokens are made and checked
- ``sessions``    sessions for browsers, and protection against foreign pages
- ``shares``      how much of a limit one key or address may use
- ``streams``     event streams
- ``metrics``     counters for Prometheus
- ``logs``        logs as text or JSON, with what a line is about
- ``proxy``       forwards requests to another process
- ``server``      runs uvicorn on a server's sockets
- ``protocol``    HTTP/1.1 with limits
- ``head``        the head of a request: its limits and its host
- ``transport``   how responses leave; clients that do not read
- ``refusals``    what clients get that send no proper request
- ``uvicorn_names``  what ``protocol`` uses of uvicorn beyond its documented interface
"""
