"""One polite fetch core, used by batch and live alike.

- ``stack``: what happens to a request, in order, with the reason for the order
- ``transport``: one request over the wire, one answer back
- ``workbench``: whose turn it is
- ``guard``: which schemes, ports and addresses may be asked at all
- ``resolve``: names to addresses, checked and remembered
- ``decode``: content codings undone, up to a limit
- ``robots``: what sites allow, fetched and remembered
- ``fetcher``: many requests at once, from a source to a sink
"""
