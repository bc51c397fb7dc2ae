"""The link graph of a crawl, and the graphs of its hosts and domains.

- ``tables``      the tables of the three graphs
- ``addition``    adding segments: new nodes, and a run of links
- ``assembly``    the links of segments, as the settings choose them
- ``urls``        the URLs of these links, numbered
- ``distinct``    finding the distinct URLs of a stream
- ``buckets``     links in temporary files by their source
- ``removal``     pages that left the crawldb
- ``links``       which links of pages are live
- ``derivation``  the tables that are derived from the links of pages
- ``sites``       the host graph and the domain graph
- ``site_links``  links between hosts or domains
- ``node_values``  counts and ranks of nodes as arrays
- ``views``       the graphs as SQL views
- ``adjacency``   the links of a graph as arrays on disk
- ``ranks``       LinkRank and PageRank
- ``harmonic``    harmonic centrality
"""
