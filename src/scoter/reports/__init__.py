"""Named reports that both a crawl and a live service can answer.

- ``questions``  the reports: SQL over the log of a service and over the tables of a crawl
- ``days``       ranges of days

Reports about crawls only are in ``batch.reports``; ``live.reports`` has the views that these reports read.
"""
