"""How messages are taken.

- ``messages``       finds the URLs of a message, and accepts or refuses it: start here
- ``checks``         space on disk and for callbacks, before a message is taken; cached domain rules
- ``journal_rules``  rules of the journal that do not depend on the database
"""
