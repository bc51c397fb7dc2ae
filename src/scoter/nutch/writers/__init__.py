"""The translation of Nutch's index writers.

- ``writers``     translates index-writers.xml and exchanges.xml: start here
- ``parameters``  translates the parameters of writers
- ``routes``      translates the expressions of exchanges
"""
