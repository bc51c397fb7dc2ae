"""The handlers of the REST API for batch crawls.

- ``crawls``     the list of crawls, one crawl, a new one, progress
- ``jobs``       starting, showing and stopping jobs; schedules; the commands
- ``results``    rows of the crawldb, hosts, segments, links, texts
- ``copies``     archived copies, as bytes and in a sandbox
- ``questions``  search, reports and SQL
"""
