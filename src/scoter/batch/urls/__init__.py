"""URLs on their way into a crawl, and the links of its pages.

- ``seeds``           seed lists, and the scope of a crawl
- ``sitemaps``        fetches sitemaps, in one run or several
- ``sitemap_starts``  the sites and sitemaps to start from
- ``records``         crawldb records of seeds and sitemap entries
- ``refusals``        URLs that settings refuse, and which settings
- ``listed``          the URLs that seed lists and sitemaps have named
- ``chains``          the configured normalisers and filters
- ``domains``         hosts of URLs and their registered domains
- ``parsed_links``    the links of parsed segments
"""
