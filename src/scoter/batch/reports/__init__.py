"""Reports about a crawl.

- ``questions``  the named reports: SQL over the views of ``scoter sql``
- ``remedies``   the settings that refused URLs, and commands that allow them
- ``charts``     bar charts as SVG
- ``document``   how every report as an HTML page begins
- ``page``       all reports on one HTML page
"""
