"""The archive of responses, the log of outcomes, and how long both are kept.

- ``archive``    responses in rotated WARC files with an index (``ports.ContentStore``)
- ``log``        exports every outcome to a Parquet log, hour by hour
- ``log_files``  the files of the log: names, parts and hours
- ``log_rows``   the columns of the log, and the timings of outcomes
- ``retention``  removes old data, and watches the free disk space
"""
