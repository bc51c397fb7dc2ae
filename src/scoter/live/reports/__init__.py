"""Ready answers about a service, for people: questions in SQL over its log.

- ``views``      the log as tables that can be asked
- ``questions``  the questions that have a name
- ``days``       days as people say them
"""
