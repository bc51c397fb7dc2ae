"""How messages are taken.

- ``messages``       finds the URLs of a message, and accepts or refuses it: start here
- ``checks``         what must hold before a message is taken: space on disk, a healthy database, a free backlog
- ``journal_rules``  rules of the journal that do not depend on the database
"""
