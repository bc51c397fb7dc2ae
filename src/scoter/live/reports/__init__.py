"""Reports about a service: SQL over its log.

- ``views``      the log as SQL views, and ranges of days
- ``questions``  the named reports
"""
