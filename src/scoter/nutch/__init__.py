"""Everything about Apache Nutch 1.x: reading its crawls and configurations, and answering its commands.

- ``crawl/``     its files, and the import of a crawl
- ``settings/``  the translation of its configuration, and of the files that its plug-ins read
- ``writers/``   the translation of its index-writers.xml and exchanges.xml
- ``commands/``  its command lines, answered with ours
- ``classes``    its classes, and the modules that do their work

The commands themselves are in ``cli``; ``cli.counterparts`` generates the page about everything of Nutch.
"""
