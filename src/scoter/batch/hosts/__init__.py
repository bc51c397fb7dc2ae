"""The hostdb: what a crawl knows about every host.

- ``crawldb_facts``  what the crawldb says: counts by status, statistics of metadata, homepages
- ``segment_facts``  what new segments say: requests, failures, bytes, times, servers
- ``histograms``  percentiles of latency and size, which can be merged
- ``robots``    what cached robots.txt files say
- ``lookups``   which host names are looked up, and the answers
- ``records``   the join of all this to one row per host
- ``processors``  metadata that plug-ins aggregate
- ``columns``   the columns as people and expressions see them
- ``notable``   the hosts that stand out, for the summary of a crawl
- ``host_limits``  limits, delays and dead hosts, for ``generate``

A host is named by ``url``, and its key is the host with its labels reversed, as in the graphs of hosts and domains.
Facts of the crawldb are counted anew by each update. Those of segments are added to those of earlier segments, so that
a segment is read once and may be removed afterwards.
"""
