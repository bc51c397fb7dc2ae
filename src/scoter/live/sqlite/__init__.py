"""The live service's stores in one SQLite file.

- ``stores``    all of them, opened together: start here
- ``database``  the file: its lock, its one writer, its readers
- ``writer``    the thread that writes, many changes to a commit
- ``schema``    the tables and their version
- ``backup``    a copy of the file, made while it is written
- ``journal``   accepted messages until they are done
- ``metadata``  what is known of URLs; ``open_readonly`` for processes that only look up
- ``ledger``    an outcome, recorded once
- ``events``, ``deliveries``, ``rules``, ``keys``  announcements, callbacks, domains, who may come in
- ``faults``    what SQLite does wrong, told as our errors
"""
