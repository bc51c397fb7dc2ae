"""How a URL of each scheme is fetched: the protocol plug-ins and their parts.

- ``dispatch``    which plug-in fetches a URL
- ``http``        HTTP and HTTPS: ``http_transport``, with ``request_headers``, ``credentials`` and ``sites``
- ``curl_loop``, ``curl_handle``, ``curl_sockets``, ``transfers``   libcurl on an event loop
- ``file``, ``ftp``   files and folders; ``listings`` turns folders into pages of links
- ``browser``     pages that need JavaScript: ``chromium`` runs the browser, ``renderer`` one page in it
"""
