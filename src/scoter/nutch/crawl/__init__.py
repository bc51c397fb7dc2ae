"""Reading crawls of Apache Nutch 1.x, and importing them.

- ``job``            the whole import, and its report: start here
- ``codecs``         the compression codecs of Hadoop
- ``sequence_file``  Hadoop's SequenceFile, also when it is damaged
- ``writables``      Hadoop's encodings: numbers, texts, maps
- ``records``        Nutch's records: CrawlDatum, Content, ParseData, Inlinks ...
- ``layout``         where the files of a Nutch crawl are
- ``reader``         files as records; counts what was read and what was not
- ``captures``       Content as an exchange for the archive
- ``parses``         ParseData as a row
- ``tables``         the import of crawldb, linkdb and hostdb
- ``segments``       the import of segments
"""
