"""Markup made for programs: feeds, sitemaps and XML of any kind.

``source`` decodes a document, removes its declarations and walks it without building a tree. ``feed``, ``sitemap`` and
``xml`` hold the parsers. ``entries`` holds the records of a feed, which ``xmlfeeds`` and ``jsonfeeds`` read.
"""
