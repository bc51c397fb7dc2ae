"""How a URL of each scheme is fetched: the protocol plug-ins and their parts.

- ``dispatch``         which plug-in fetches a URL
- ``http``             the plug-in for HTTP and HTTPS
- ``http_transport``   HTTP and HTTPS on libcurl
- ``request_headers``  request header fields
- ``credentials``      credentials and cookies of hosts
- ``sites``            what all requests to one site share
- ``curl_loop``        libcurl on an event loop
- ``curl_handle``      one libcurl handle and its transfer
- ``curl_sockets``     how the event loop watches libcurl's sockets
- ``transfers``        the records of a transfer
- ``file``             the plug-in for local files and folders
- ``ftp``              the plug-in for FTP
- ``listings``         turns folders into pages of links
- ``browser``          the plug-in for pages that need JavaScript
- ``chromium``         runs the browser
- ``renderer``         renders one page in it
"""
