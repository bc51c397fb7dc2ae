"""Objects in a store with a URL, such as ``s3://bucket/crawl``. docs/object-stores.md describes the rules.

- ``client``         the port for a store: whole objects, listings and conditional writes
- ``s3``             S3 and servers that speak its protocol
- ``fsspec_client``  any other store that fsspec supports
- ``query_files``    the objects behind tables as a query reads them, in few requests
- ``registry``       the clients of the stores that this process uses
- ``leases``         locks that expire, and are noticed by their former holder
- ``copies``         local copies of immutable objects, and the temporary folder of this process
- ``path``           a path in a store, with the methods of ``pathlib.Path`` that a crawl directory needs
"""
