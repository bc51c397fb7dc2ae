"""The log of a service for reports.

- ``views``  the log as SQL views; ``scoter.reports`` has the named reports over them
"""
