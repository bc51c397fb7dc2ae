"""The stores in one SQLite file.

- ``stores``    all of them, opened together: start here
- ``database``  the file: its lock, writer, readers and backup
- ``writer``    the thread that writes, with many changes per commit
- ``health``    errors of SQLite, and damage
- ``probe``     checks of the database while the service runs
- ``schema``    the tables and their version
- ``journal``   accepted messages until they are finished, and the recording of outcomes
- ``metadata``  records by URL; ``open_readonly`` for processes that only look up
- ``events``    events and their delivery to callbacks
- ``access``    domain rules and API keys
"""
