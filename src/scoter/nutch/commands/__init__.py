"""Nutch's command lines, answered with ours.

- ``answers``  recognises Nutch's commands and spellings, and names the right command: start here
- ``usage``    the usage lines of Nutch's commands, and how a command line is split by them
"""
