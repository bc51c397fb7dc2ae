"""What a service keeps of what it fetched, and for how long.

- ``store``      answers as they came, in rotated WARC files with their index (``ports.ContentStore``)
- ``writer``     the thread that writes them, and the one file it has open
- ``log``        a Parquet log of every outcome, hour by hour, made of the announcements
- ``hours``      its files: how they are named, which of them count, how parts become an hour
- ``rows``       its columns, and the row of an announcement
- ``timing``     how long an outcome took, from where it is known to where it is logged
- ``retention``  what goes, and when
- ``room``       whether the disk has room for more
"""
