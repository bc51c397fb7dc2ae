"""URLs on their way into a crawl.

``seeds.py``     seed lists, and the scope of a crawl
``sitemaps.py``  fetching sitemaps
``records.py``   crawldb records of seeds and sitemap entries
``chains.py``    the configured normalisers and filters
"""
