"""The processes of a live service on several machines (``scoter serve --role``).

- ``connections``  what roles have in common: names, connections, the dead-letter topic
- ``measurements``  what roles measure, and the metrics of an api
- ``sessions``  sessions that all api processes share
- ``api``      the HTTP API
- ``pipeline`` what happens to a message
- ``worker``   requests to the web
"""
