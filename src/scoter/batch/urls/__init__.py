"""URLs on their way into a crawl.

- ``seeds``     seed lists, and the scope of a crawl
- ``sitemaps``  fetches sitemaps
- ``records``   crawldb records of seeds and sitemap entries
- ``chains``    the configured normalisers and filters
"""
