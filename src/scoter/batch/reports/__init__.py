"""Reports about a crawl.

- ``questions``  the named reports: SQL over the views of ``scoter sql``
- ``charts``     bar charts as SVG
- ``page``       all reports on one HTML page
"""
