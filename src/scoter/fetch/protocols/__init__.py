"""How a URL of each scheme is fetched: the protocol plug-ins, and what they are made of.

- ``dispatch``    which plug-in fetches a URL
- ``http``        the web, with ``identity`` and ``credentials``
- ``curl``, ``handle``, ``transfer``, ``sockets``, ``bodybudget``  libcurl on an event loop
- ``file``, ``ftp``, ``ftp_listing``, ``linkpage``  files and folders, near and far
- ``browser``, ``chromium``, ``rendering``, ``scripted``  pages that need JavaScript
"""
