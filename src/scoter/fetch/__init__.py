"""One polite fetch core, used by batch and live alike.

- ``stack``       what happens to a request, in order: start here
- ``filters``, ``robots``, ``follow``  the links of the stack, and redirects for those who want them
- ``fetcher``, ``snapshot``  a source of requests, a sink of outcomes, and how far it is
- ``together``    replies handed on several at a time
- ``pages``       the library face: URLs in, pages out
- ``decode``      content codings undone, up to a limit
- ``queues/``     whose turn it is
- ``reach/``      what may be reached: addresses, names, proxies
- ``protocols/``  how a URL of each scheme is fetched

Nothing here knows of batch or live, of the store or of parsing: archive, robots cache and link extractor are handed in.
"""
