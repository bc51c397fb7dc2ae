"""Batch crawls: one job a module, named like its command, over the tables of a crawl directory.

``directory.py``  the crawl directory: what lies where, and which format it has
``segment.py``    one segment of it, and how far it has come
``schemas.py``    the columns of every table
``rows.py``       a datum as a row, and back
"""
