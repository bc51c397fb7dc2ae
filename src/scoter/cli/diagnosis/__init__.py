"""What `scoter doctor` checks, and what it finds.

- ``findings``      a finding: what was checked, how it is, and what to do
- ``installation``  this installation, and the machine
- ``crawl``         a crawl directory, on disk or in an object store
- ``service``       the directory of a live service, and its servers
- ``remote_service``  a service that runs, over HTTP
"""
