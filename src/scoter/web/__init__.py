"""The HTTP API of the live service: bare ASGI, on ports.

- ``app``       the whole API, put together from the faces that it is given: start here
- ``routes``    the table of routes: the one source of routing, validation and the OpenAPI document
- ``asgi``, ``problems``, ``records``   what comes in, what goes out, and how it is said that something is wrong
- ``handlers/`` one module a subject
- ``lookup``    the lookup path alone, for processes that only look up; ``passing`` hands everything else on
- ``streams``, ``waiting``   those who listen to events, and those who wait for one URL
- ``keys``      who may come in; ``webhooks``, ``posting``   who is told
- ``metrics``, ``measures``   what is counted
- ``serving``, ``protocol``   the server under it, and the limits that it keeps
"""
