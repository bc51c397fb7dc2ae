"""The polite fetch core, used by batch and live alike.

- ``stack``        what happens to a request, in order: start here
- ``filters``, ``robots``   the filters of the stack
- ``fetcher``      requests from a source through the stack to a sink; ``tasks`` runs them, ``sinks`` takes the replies
- ``progress``, ``watchdog``   how far a fetch is, and when to end it
- ``pages``        the library interface: URLs in, pages out
- ``decode``       content codings undone, up to a limit
- ``queues/``      when the next request to each host may start
- ``network/``     address checks, DNS, proxies
- ``protocols/``   how a URL of each scheme is fetched

Nothing here depends on batch or live, the store or the parsers: callers pass in the robots cache and the sink.
"""
