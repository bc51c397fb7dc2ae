"""The polite fetch core, used by batch and live alike.

- ``stack``           what happens to a request, in order: start here
- ``filters``         the filters of the stack, except for robots.txt
- ``robots``          the robots.txt filter
- ``challenges``      recognises challenges, blocks and walls instead of pages
- ``fetcher``         takes requests from a source through the stack to a sink
- ``tasks``           runs the requests
- ``sinks``           where replies go, one at a time or in batches
- ``progress``        how far a fetch is
- ``watchdog``        decides whether a fetch should end
- ``pages``           the library interface: URLs in, pages out
- ``decode``          removes content codings, up to a limit
- ``decode_streams``  a decoder per content coding
- ``queues/``         when the next request to each host may start
- ``network/``        address checks, DNS, proxies
- ``protocols/``      how a URL of each scheme is fetched

Nothing here depends on batch or live, the store or the parsers: callers pass in the robots cache and the sink.
"""
