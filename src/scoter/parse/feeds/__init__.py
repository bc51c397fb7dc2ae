"""Markup that is made for programs: feeds, sitemaps and XML of any kind.

``source`` brings a document into one form, from which whatever it declares is gone, and walks over it without building
a tree; ``feed``, ``sitemap`` and ``xml`` are the parsers. ``entries`` holds what a feed says, ``xmlfeeds`` and
``jsonfeeds`` find it out.
"""
