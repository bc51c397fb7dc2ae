"""The jobs of a batch crawl, one module per command. Start at ``crawl``, which calls the others in turn.

- ``crawl``          runs rounds of generate, fetch, parse and updatedb; then dedup and invertlinks
- ``inject``         adds seeds to the crawldb
- ``sitemap``        adds the URLs of sitemaps to the crawldb
- ``generate``       makes segments of the URLs that are due
- ``freegen``        makes a segment of the URLs in files
- ``fetch``          distributes the fetch lists of a segment to workers
- ``parse``          parses a fetched segment from its archive
- ``updatedb``       updates the crawldb from fetched segments
- ``invertlinks``    adds the links of segments to the linkdb
- ``webgraph``       adds the links of segments to the link graph
- ``linkrank``       computes ranks over the link graph, or that of hosts or domains
- ``scoreupdater``   writes ranks to the crawldb
- ``updatehostdb``   updates the hostdb from the crawldb, segments, robots.txt files and DNS
- ``dedup``          marks duplicates
- ``index``          writes pages to search indexes, and deletes those that are gone
- ``readdb``         reads the crawldb
- ``readseg``        reads segments
- ``readlinkdb``     reads the linkdb
- ``readhostdb``     reads the hostdb
- ``readwebgraph``   reads a node of the link graph and its neighbours
- ``nodedumper``     lists the nodes with the most links or the highest ranks
- ``domainstats``    counts pages by host, domain, suffix or top-level domain
- ``protocolstats``  counts the outcomes of fetches
- ``crawlcomplete``  the share of fetched URLs by host or domain
- ``sql``            read-only queries over the tables of a crawl
- ``explain``        everything known about one URL
- ``merge``          merges whole crawls
- ``mergedb``        merges crawldbs
- ``mergelinkdb``    merges linkdbs
- ``mergesegs``      merges segments
- ``compact``        merges the delta parts of the crawldb into its base
- ``prune``          removes old segments and table versions

``slow_hosts`` says when ``fetch`` ends a round without its slowest hosts.
"""
