"""The crawl directory, described in docs/crawl-directory.md.

- ``directory``  the directory, its lock, and the request to stop
- ``segment``    one segment, its state and its tables
- ``schemas``    the columns of every table; conversion between records and rows
- ``crawldb``    opens the crawldb, the linkdb and the indexdb
- ``changes``    writes changed rows of the crawldb next to the others
- ``column_rewrite``  copies a table with new values of one column
- ``host_counts``  URLs of each host by status, stored with a version of the crawldb
- ``linkdb``     operations on links
- ``lookup``     finds the rows of one URL without an engine
- ``export``     writes rows as CSV, JSON lines, Parquet or text
- ``progress``   records the progress of commands, for programs that watch a crawl
- ``pages``      reads crawled pages back from the tables
- ``causes``     why URLs of segments gave no page
- ``archives``   copies captures from one WARC file to another
- ``merge_filters``  asks segment merge filters which pages to keep
"""
