"""The handlers of the REST API for batch crawls.

- ``crawls``     the list of crawls, one crawl, a new one, progress
- ``jobs``       starting, showing and stopping jobs; schedules; the commands
- ``results``    rows of the crawldb, hosts, segments, links, archived copies, texts
- ``questions``  search, reports and SQL
- ``sessions``   sessions for browsers
"""
